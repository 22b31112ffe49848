// Parameters gathered and computed in bfloat16, shards and the optimizer in float32.
#include "core/parallel/fsdp1/flat_layout.h"
#include "tests/parallel/train_helper.h"
#include "tests/test.h"

using namespace meshscope;
using namespace meshscope::test;

namespace {

const std::string kSgd = "kind = \"sgd\"\nlr = 0.05";

std::string on(const std::string& strategy, const std::string& reduce, const std::string& keys = "") {
    return "[mesh]\nshape = [2]\nnames = [\"shard\"]\n[parallel]\ndata = \"" + strategy + "\"\n" + keys +
           "\n[parallel.mixed_precision]\nparam = \"bfloat16\"\n" +
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
