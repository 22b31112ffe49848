// Parameters gathered and computed in bfloat16, shards and the optimizer in float32.
#include "core/parallel/fsdp1/flat_layout.h"
#include "tests/parallel/train_helper.h"
#include "tests/test.h"

using namespace meshscope;
using namespace meshscope::test;

namespace {

const std::string kSgd = "kind = \"sgd\"\nlr = 0.05";

std::string on(const std::string& strategy, const std::string& reduce, const std::string& keys = "") {
    return "[mesh]\nshape = [" + std::string(strategy == "none" ? "1" : "2") + "]\nnames = [\"" +
           (strategy == "ddp" || strategy == "none" ? "replicate" : "shard") + "\"]\n[parallel]\ndata = \"" +
           strategy + "\"\n" + keys + "\n[parallel.mixed_precision]\nparam = \"bfloat16\"\n" +
           (reduce.empty() ? "" : "reduce = \"" + reduce + "\"\n");
}

DType dtype_of(const run::RunResult& result, CollectiveOp op) {
    for (const trace::Event& event : result.trace->ranks[0].events)
        if (event.kind == trace::EventKind::collective && event.op == op) return event.dtype;
    throw std::runtime_error("no such collective");
}

int64_t peak(const run::RunResult& result, MemoryCategory category) {
    int64_t now = 0, most = 0;
    for (const trace::MemoryChange& change : result.trace->ranks[0].memory)
        if (change.category == category) most = std::max(most, now += change.delta_bytes);
    return most;
}

}  // namespace

TEST_CASE("fsdp2 reduces in float32 unless told otherwise, fsdp1 in what it gathers") {
    const auto types = [](const std::string& scenario) {
        const auto result = run_text(mlp_scenario(scenario, kSgd));
        return std::pair(dtype_of(result, CollectiveOp::all_gather),
                         dtype_of(result, CollectiveOp::reduce_scatter));
    };
    using enum DType;
    CHECK(types(on("fsdp2", "")) == std::pair(bfloat16, float32));
    CHECK(types(on("fsdp2", "bfloat16")) == std::pair(bfloat16, bfloat16));
    CHECK(types(on("fsdp1", "")) == std::pair(bfloat16, bfloat16));
    CHECK(types(on("fsdp1", "float32")) == std::pair(bfloat16, float32));
    CHECK(types(on("fsdp1", "float16")) == std::pair(bfloat16, DType::float16));
}

TEST_CASE("in bfloat16 whole parameters take half the memory, shards and the optimizer's state the same") {
    const auto full = run_text(mlp_scenario(
        "[mesh]\nshape = [2]\nnames = [\"shard\"]\n[parallel]\ndata = \"fsdp2\"\n", "kind = \"adam\""));
    const auto half = run_text(mlp_scenario(on("fsdp2", ""), "kind = \"adam\""));
    CHECK(2 * peak(half, MemoryCategory::unsharded_parameters) ==
          peak(full, MemoryCategory::unsharded_parameters));
    CHECK(peak(half, MemoryCategory::sharded_parameters) == peak(full, MemoryCategory::sharded_parameters));
    CHECK(peak(half, MemoryCategory::optimizer_state) == peak(full, MemoryCategory::optimizer_state));
}

TEST_CASE("FSDP1 aligns to 16 bytes: eight bfloat16 numbers") {
    const auto result = run_text(toy_scenario(on("fsdp1", ""), kSgd));
    const auto layout = parallel::FlatLayout::of(std::vector<int64_t>{100, 10, 50, 5}, 8, 2);
    CHECK(collectives_of(*result.trace, 0, 1).front() ==
          "AG " + std::to_string(layout.shard_elements()) + "->" + std::to_string(layout.elements));
    CHECK(layout.elements == 182);  // 100 → 104, 114 → 120, 170 → 176, 181 → 182
}

TEST_CASE("bfloat16 training stays near float32's, micro-batches summed in float32") {
    // bfloat16 keeps 8 bits: a rounding of 2⁻⁹ a number. The loss, of mean values, stays within 2 %.
    for (const std::string train : {"", "accumulate = 3"}) {
        const auto exact = run_text(mlp_scenario(one_rank(), kSgd, train));
        for (const std::string& other :
             {on("fsdp2", ""), on("fsdp1", "float32"), on("fsdp2", "bfloat16"), on("fsdp1", "float16"),
              on("fsdp2", "float16"), on("fsdp1", "", "sharding_strategy = \"shard_grad_op\"")}) {
            INFO(other << train);
            const auto rounded = run_text(mlp_scenario(other, kSgd, train));
            const auto &a = rounded.trace->info.losses, &b = exact.trace->info.losses;
            REQUIRE(a.size() == b.size());
            for (std::size_t s = 0; s < a.size(); ++s) CHECK(a[s] == Approx(b[s]).epsilon(0.02));
            CHECK(a != b);
        }
    }
}

TEST_CASE(
    "whole parameters train in mixed precision number for number as fsdp2's shards do, which is PyTorch's") {
    // Two ranks: a division by two rounds nothing. tests/golden's *_fsdp2_bf16 hold fsdp2 against PyTorch.
    for (const std::string train : {"", "accumulate = 3", "clip_norm = 0.01"})
        for (const std::string reduce : {"float32", "bfloat16"}) {
            INFO(train << " " << reduce);
            const auto fsdp2 = run_text(mlp_scenario(on("fsdp2", reduce), kMomentumSgd, train));
            for (const std::string other : {"ddp", "zero1", "zero2"}) {
                INFO(other);
                const auto whole = run_text(mlp_scenario(on(other, reduce), kMomentumSgd, train));
                if (reduce == "float32")
                    check_equal(whole, fsdp2);
                else  // sums of bfloat16 in another order
                    for (std::size_t s = 0; s < fsdp2.trace->info.losses.size(); ++s)
                        CHECK(whole.trace->info.losses[s] ==
                              Approx(fsdp2.trace->info.losses[s]).epsilon(0.01));
            }
        }
    const auto alone = run_text(mlp_scenario(on("none", ""), kMomentumSgd, "accumulate = 2"));
    const auto shard =
        run_text(mlp_scenario("[mesh]\nshape = [1]\nnames = [\"shard\"]\n[parallel]\n"
                              "data = \"fsdp2\"\nmixed_precision.param = \"bfloat16\"\n",
                              kMomentumSgd, "accumulate = 2"));
    check_equal(alone, shard);
    check_equal(run_text(mlp_scenario(on("zero3", "float32"), kMomentumSgd)),
                run_text(mlp_scenario(on("fsdp1", "float32"), kMomentumSgd)));
}

TEST_CASE("gradients of whole parameters travel in the type that is asked for, parameters in the other") {
    const auto types = [](const std::string& scenario, CollectiveOp op) {
        return dtype_of(run_text(mlp_scenario(scenario, kSgd, "accumulate = 2")), op);
    };
    using enum DType;
    for (const std::string stage : {"zero1", "zero2", "zero3"}) {
        INFO(stage);
        CHECK(types(on(stage, ""), CollectiveOp::all_gather) == bfloat16);
        CHECK(types(on(stage, ""), CollectiveOp::reduce_scatter) == float32);
        CHECK(types(on(stage, "bfloat16"), CollectiveOp::reduce_scatter) == bfloat16);
    }
    CHECK(types(on("ddp", ""), CollectiveOp::all_reduce) == float32);
    CHECK(types(on("ddp", "float16"), CollectiveOp::all_reduce) == DType::float16);
}
