// fully_shard's finer settings: what stays after forward, what is fetched early, how gradients are divided
// and when they travel, and shards in the host's memory.
#include <algorithm>

#include "core/memory/ledger.h"
#include "core/parallel/fsdp2/divide.h"
#include "tests/parallel/train_helper.h"
#include "tests/sanitizer.h"
#include "tests/test.h"

using namespace meshscope;
using namespace meshscope::test;
using parallel::GradientDivide;
using Rows = std::vector<std::string>;

namespace {

const std::string kAdam = "kind = \"adam\"\nlr = 0.003";
const std::string kEachLinear = "units = [[\"net1\"], [\"net2\"]]\n";

std::string fsdp2(const std::string& mesh, const std::string& keys) {
    return "[mesh]\n" + mesh + "\n[parallel]\ndata = \"fsdp2\"\n" + keys + "\n";
}
std::string shard(int64_t ranks, const std::string& keys) {
    return fsdp2("shape = [" + std::to_string(ranks) + "]\nnames = [\"shard\"]", keys);
}
std::string hsdp(const std::string& keys) {
    return fsdp2("shape = [2, 2]\nnames = [\"replicate\", \"shard\"]", keys);
}

/// "net1", "net2 early" …: the units gathered in that phase of a step, "early" for a prefetch.
Rows gathers(const run::RunResult& result, int32_t step, Phase phase) {
    Rows rows;
    for (const trace::Event& event : result.trace->ranks[1].events)
        if (event.kind == trace::EventKind::collective && event.op == CollectiveOp::all_gather &&
            event.step == step && event.phase == phase)
            rows.push_back(std::string(result.trace->text(event.unit)) + (event.prefetch ? " early" : ""));
    return rows;
}

/// Bytes that a rank copied under that name in a step.
int64_t copied(const run::RunResult& result, int32_t rank, int32_t step, const std::string& name) {
    int64_t bytes = 0;
    for (const trace::Event& event : result.trace->ranks[static_cast<std::size_t>(rank)].events)
        if (event.step == step && result.trace->text(event.name) == name) bytes += event.touched_bytes;
    return bytes;
}

}  // namespace

TEST_CASE("an integer reshard_after_forward gathers for backward among neighbours: PyTorch's trace") {
    const auto result =
        run_text(toy_scenario(shard(4, kEachLinear + "reshard_after_forward = [2, false]"), kAdam));
    for (int32_t rank = 0; rank < 4; ++rank) {
        CHECK(collectives_of(*result.trace, rank, 1) ==
              Rows{"AG 33->132", "AG 22->88", "AG 66->132", "RS 88->22", "RS 132->33"});
        for (const trace::Event& event : result.trace->ranks[static_cast<std::size_t>(rank)].events) {
            if (event.in_elements != 66) continue;
            const std::vector<int32_t>& ranks =
                result.trace->groups[static_cast<std::size_t>(event.group)].ranks;
            CHECK(ranks == (rank < 2 ? std::vector<int32_t>{0, 1} : std::vector<int32_t>{2, 3}));
        }
    }
}

TEST_CASE("between forward and backward a rank keeps its part of the padded rows") {
    const auto whole = run_text(toy_scenario(shard(4, kEachLinear), kAdam));
    const auto parts = run_text(toy_scenario(shard(4, kEachLinear + "reshard_after_forward = 2"), kAdam));
    const auto at = [](const run::RunResult& result) {
        return held(*result.trace, 0, MemoryCategory::sharded_parameters);
    };
    CHECK(at(whole).peak == 4 * (33 + 22));
    CHECK(at(parts).peak == 4 * (33 + 22) + 4 * (66 + 44));
    CHECK(at(parts).last == at(whole).last);
    CHECK(collectives_of(*parts.trace, 0, 1) ==
          Rows{"AG 33->132", "AG 22->88", "AG 44->88", "AG 66->132", "RS 88->22", "RS 132->33"});
    // A factor of 1 keeps units whole, the shard's size is what true does.
    const auto trace_of = [](const std::string& value) {
        const auto result = run_text(toy_scenario(shard(4, kEachLinear + "reshard_after_forward = " + value),
                                                  "kind = \"sgd\"\nlr = 0.05"));
        return collectives_of(*result.trace, 2, 1);
    };
    CHECK(trace_of("1") == trace_of("false"));
    CHECK(trace_of("4") == trace_of("true"));
    CHECK(trace_of("[true, false]") ==
          Rows{"AG 33->132", "AG 22->88", "AG 33->132", "RS 88->22", "RS 132->33"});
}

TEST_CASE("three micro-batches under HSDP: PyTorch's counts for each way to let gradients wait") {
    const auto counts = [](const std::string& keys) {
        const auto result =
            run_text(toy_scenario(hsdp(kEachLinear + keys), "kind = \"sgd\"\nlr = 0.05", "accumulate = 3"));
        const Rows rows = collectives_of(*result.trace, 0, 1);
        return std::array{count_of(rows, "AG"), count_of(rows, "RS"), count_of(rows, "AR")};
    };
    using Counts = std::array<int64_t, 3>;
    CHECK(counts("gradient_sync = \"every\"") == Counts{12, 6, 6});
    CHECK(counts("gradient_sync = \"all_reduce_last\"") == Counts{12, 6, 2});
    CHECK(counts("gradient_sync = \"last\"") == Counts{12, 2, 2});
    CHECK(counts("is_last_backward = true") == Counts{13, 2, 2});
    CHECK(counts("is_last_backward = true\nreshard_after_backward = false") == Counts{9, 2, 2});
}

TEST_CASE(
    "told which backward is the last, units fetch what nobody needs: PyTorch's trace of micro-batch 1") {
    const auto result =
        run_text(toy_scenario(hsdp(kEachLinear + "gradient_sync = \"every\"\nis_last_backward = true"),
                              "kind = \"sgd\"\nlr = 0.05", "accumulate = 3"));
    const auto rows = [&](int32_t microbatch, Phase phase) {
        Rows found;
        for (const trace::Event& event : result.trace->ranks[0].events) {
            if (event.kind != trace::EventKind::collective || event.step != 1 || event.phase != phase ||
                event.microbatch != microbatch)
                continue;
            const char* const op = event.op == CollectiveOp::all_gather       ? "AG "
                                   : event.op == CollectiveOp::reduce_scatter ? "RS "
                                                                              : "AR ";
            found.push_back(op + std::string(result.trace->text(event.unit)));
        }
        return found;
    };
    CHECK(rows(1, Phase::backward) ==
          Rows{"AG net2", "AG net1", "RS net2", "AR net2", "AG net2", "RS net1", "AR net1"});
    CHECK(rows(2, Phase::forward) == Rows{"AG net1"});  // net2's stale gather serves
    CHECK(count_of(collectives_of(*result.trace, 0, 1), "AG") == 13);
}

TEST_CASE("4 x Linear(256,256) on four ranks with Adam: the parts of PyTorch's FSDPMemTracker peak") {
    const auto result = run_text(
        "format = 1\n[model]\nkind = \"mlp\"\ndim = 256\nhidden = 256\nlayers = 2\nbias = "
        "false\n[train]\nsteps = 2\nglobal_batch = 256\n[optimizer]\n" +
        kAdam + "\n" +
        shard(4, "units = [\"layers.0.up\", \"layers.0.down\", \"layers.1.up\", \"layers.1.down\"]"));
    const auto peak = [&](MemoryCategory category) { return held(*result.trace, 2, category).peak; };
    CHECK(peak(MemoryCategory::sharded_parameters) == 262'144);
    CHECK(peak(MemoryCategory::unsharded_parameters) == 262'144);
    CHECK(peak(MemoryCategory::optimizer_state) == 524'304 - 4 * 4);  // without PyTorch's step, a float each
    // Its all-gather's buffer and its reduce-scatter's input, 262,144 each, at once.
    CHECK(peak(MemoryCategory::communication) == 2 * 262'144);
}

TEST_CASE("gradients are averaged as _get_gradient_divide_factors says") {
    const auto of = [](int64_t ranks, int64_t replicas, DType dtype, std::optional<double> factor,
                       bool force) { return GradientDivide::of(ranks, replicas, dtype, factor, force); };
    const auto half = [&](int64_t ranks) {
        const GradientDivide d = of(ranks, 1, DType::float16, {}, false);
        CHECK(d.scatter_op == ReduceOp::sum);
        return std::pair(d.pre, d.post);
    };
    CHECK(half(8) == std::pair(4.0F, 2.0F));
    CHECK(half(16) == std::pair(4.0F, 4.0F));
    CHECK(half(6) == std::pair(4.0F, 1.5F));
    CHECK(of(1, 1, DType::float32, {}, false).scatter_op == ReduceOp::sum);
    CHECK(of(4, 2, DType::bfloat16, {}, false).all_reduce_op == ReduceOp::avg);
    CHECK(of(4, 2, DType::float32, 4.0, false).scatter_op == ReduceOp::avg);
    CHECK(of(4, 2, DType::float32, 4.0, false).all_reduce_op == ReduceOp::sum);
    CHECK(of(4, 2, DType::float32, 16.0, false).scatter_op == ReduceOp::premul_sum);
    CHECK(of(4, 2, DType::float32, 16.0, false).premul == 1.0 / 16);
    const GradientDivide forced = of(4, 2, DType::float32, {}, true);
    CHECK(std::pair(forced.pre, forced.post) == std::pair(1.0F, 8.0F));
    CHECK(forced.scatter_op == ReduceOp::sum);
}

TEST_CASE("a divide factor scales the step, and every way to the mean is the same mean") {
    const auto with = [](const std::string& keys, double lr) {
        return run_text(mlp_scenario(hsdp(keys), "kind = \"sgd\"\nlr = " + std::to_string(lr)));
    };
    const auto alone = run_text(mlp_scenario(one_rank(), "kind = \"sgd\"\nlr = 0.05"));
    check_equal(with("gradient_divide_factor = 4", 0.05), alone);   // PREMUL_SUM
    check_equal(with("gradient_divide_factor = 2", 0.025), alone);  // the shard's size: AVG, then SUM
    check_equal(with("gradient_divide_factor = 1", 0.0125), alone);
    check_equal(with("force_sum_reduction = true", 0.05), alone);
    check_equal(with("force_sum_reduction = true\ngradient_divide_factor = 8", 0.1), alone);
    const auto one_a_group = [](const std::string& keys) {
        return run_text(mlp_scenario(fsdp2("shape = [4, 1]\nnames = [\"replicate\", \"shard\"]", keys),
                                     "kind = \"sgd\"\nlr = 0.05"));
    };
    check_equal(one_a_group("gradient_divide_factor = 4"), alone);
    check_equal(one_a_group("force_sum_reduction = true"), alone);
}

TEST_CASE("gradients reduced in float16 are divided before and after, and train near float32") {
    const auto alone = run_text(mlp_scenario(one_rank(), "kind = \"sgd\"\nlr = 0.05"));
    for (const std::string train : {"", "accumulate = 2"}) {
        const auto half = run_text(mlp_scenario(shard(6, "[parallel.mixed_precision]\nreduce = \"float16\""),
                                                "kind = \"sgd\"\nlr = 0.05", train));
        for (const trace::Event& event : half.trace->ranks[0].events)
            if (event.op == CollectiveOp::reduce_scatter && event.kind == trace::EventKind::collective) {
                CHECK(event.dtype == DType::float16);
                CHECK(event.reduce_op == ReduceOp::sum);
            }
        CHECK(copied(half, 0, 1, "fsdp2.divide") > 0);
        for (std::size_t s = 0; s < alone.trace->info.losses.size(); ++s)
            CHECK(half.trace->info.losses[s] == Approx(alone.trace->info.losses[s]).epsilon(0.002));
    }
}

TEST_CASE("explicit prefetching gathers the named neighbours ahead of their turn") {
    const std::string sgd = "kind = \"sgd\"\nlr = 0.05";
    const auto plain = run_text(mlp_scenario(shard(2, "backward_prefetch = false"), sgd));
    CHECK(gathers(plain, 1, Phase::forward) == Rows{"layers.0", "layers.1", "layers.2"});
    const auto one = run_text(mlp_scenario(shard(2, "forward_prefetch = 1\nbackward_prefetch = 1"), sgd));
    CHECK(gathers(one, 1, Phase::forward) == Rows{"layers.0", "layers.1 early", "layers.2 early"});
    CHECK(gathers(one, 1, Phase::backward) == Rows{"layers.2", "layers.1 early", "layers.0 early"});
    const auto two = run_text(mlp_scenario(shard(2, "forward_prefetch = 2\nbackward_prefetch = 2"), sgd));
    CHECK(gathers(two, 1, Phase::backward) == gathers(one, 1, Phase::backward));
    // With two named, layers.0's gather leaves before layers.2 has reduced its gradients; with one behind.
    const auto before_scatter = [](const run::RunResult& result) {
        const Rows rows = collectives_of(*result.trace, 0, 1);
        return std::ranges::find_if(rows, [](const std::string& row) { return row.starts_with("RS"); }) -
               rows.begin();
    };
    CHECK(before_scatter(two) == 3 + 3);
    CHECK(before_scatter(one) == 3 + 2);
    // One unit more lies in its gather's buffer meanwhile. A layer's half is 70 elements.
    const auto buffers = [](const run::RunResult& result) {
        return held(*result.trace, 0, MemoryCategory::communication).peak;
    };
    CHECK(buffers(two) > buffers(one));
}

TEST_CASE("offloaded, shards, gradients and the optimizer's state lie in the host's memory") {
    const auto here = run_text(toy_scenario(shard(4, kEachLinear), kAdam));
    const auto host = run_text(toy_scenario(shard(4, kEachLinear + "cpu_offload = true"), kAdam));
    for (const int32_t rank : {0, 3}) {
        // Rank 0 owns 3 of net1's and 2 of net2's rows, rank 3 one and none; on the wire both have 33 and 22.
        const int64_t owned = rank == 0 ? 55 : 11;
        CHECK(held(*host.trace, rank, MemoryCategory::sharded_parameters).peak == 0);
        CHECK(held(*host.trace, rank, MemoryCategory::optimizer_state).peak == 0);
        CHECK(held(*host.trace, rank, MemoryCategory::offloaded).peak == 4 * (55 + owned + 2 * owned));
        CHECK(copied(host, rank, 1, "fsdp2.h2d") == 2 * 4 * 55);  // for forward and for backward
        CHECK(copied(host, rank, 1, "fsdp2.d2h") == 4 * owned);
        CHECK(collectives_of(*host.trace, rank, 1) == collectives_of(*here.trace, rank, 1));
        CHECK(memory::peak(*host.trace, rank).bytes < memory::peak(*here.trace, rank).bytes);
    }
    // A gradient goes to the host while backward goes on: net2's before net1's is reduced.
    int32_t first_copy = -1, last_scatter = -1;
    for (const trace::Event& event : host.trace->ranks[0].events) {
        if (event.step != 1) continue;
        if (first_copy < 0 && host.trace->text(event.name) == "fsdp2.d2h") first_copy = event.id;
        if (event.kind == trace::EventKind::collective && event.op == CollectiveOp::reduce_scatter)
            last_scatter = event.id;
    }
    CHECK(first_copy >= 0);
    CHECK(first_copy < last_scatter);
}

TEST_CASE("FSDP2 trains like one rank with every setting") {
    static test::Sample sample(5);
    const std::string train = GENERATE("clip_norm = 0.5", "accumulate = 2\nclip_norm = 1.0");
    const auto alone = run_text(mlp_scenario(one_rank(), kAdam, train));
    const std::string units = "units = [\"layers.0\", \"layers.1\", \"layers.2\"]\n";
    for (const std::string& other :
         {shard(4, "reshard_after_forward = 2"), shard(6, units + "reshard_after_forward = [3, 2, false]"),
          hsdp("reshard_after_forward = 2\ngradient_sync = \"all_reduce_last\""),
          fsdp2("shape = [3, 4]\nnames = [\"replicate\", \"shard\"]",
                "reshard_after_forward = 2\nis_last_backward = true\ncpu_offload = true"),
          hsdp("gradient_sync = \"all_reduce_last\"\nis_last_backward = true\ncpu_offload = true"),
          hsdp("gradient_sync = \"every\"\nis_last_backward = true"),
          shard(3, "gradient_sync = \"every\"\ncpu_offload = true"),
          shard(3, "reshard_after_backward = false\nis_last_backward = true"),
          shard(2, "reshard_after_backward = false\ngradient_sync = \"every\""),
          shard(2, "forward_prefetch = 2\nbackward_prefetch = 2\nforce_sum_reduction = true"),
          fsdp2("shape = [4, 1]\nnames = [\"replicate\", \"shard\"]",
                "gradient_sync = \"all_reduce_last\"\ncpu_offload = true"),
          shard(1, "cpu_offload = true")}) {
        if (!sample.takes()) continue;
        INFO(other << train);
        check_equal(run_text(mlp_scenario(other, kAdam, train)), alone);
    }
}
