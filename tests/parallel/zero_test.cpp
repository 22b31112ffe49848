// ZeRO's three stages: what each rank holds and sends, against the paper's formulas.
#include <algorithm>
#include <array>

#include "core/parallel/zero/zero_redundancy.h"
#include "tests/parallel/train_helper.h"
#include "tests/sanitizer.h"
#include "tests/test.h"

using namespace meshscope;
using namespace meshscope::test;
using Rows = std::vector<std::string>;

namespace {

const std::string kAdam = "kind = \"adam\"\nlr = 0.003";

std::string zero(int stage, int64_t ranks, const std::string& keys = "") {
    return "[mesh]\nshape = [" + std::to_string(ranks) + "]\nnames = [\"shard\"]\n[parallel]\ndata = \"zero" +
           std::to_string(stage) + "\"\n" + keys + "\n";
}

/// Four layers of 8·16 + 16 and 16·8 + 8: 1120 parameters, 280 a layer, which 2 and 4 divide.
constexpr int64_t kParameters = 1120;
std::string wide(const std::string& rest) {
    return "format = 1\n[model]\nkind = \"mlp\"\ndim = 8\nhidden = 16\nlayers = 4\n[train]\nsteps = 2\n"
           "global_batch = 8\n[optimizer]\n" +
           kAdam + "\n" + rest;
}

}  // namespace

TEST_CASE("every stage sends what the paper says: twice the parameters, stage 3 three times") {
    for (const int64_t ranks : {2, 4}) {
        const int64_t once = (ranks - 1) * kParameters * 4 / ranks;  // an all_gather, or a reduce_scatter
        for (const int stage : {1, 2, 3}) {
            const auto result = run_text(wide(zero(stage, ranks)));
            for (int32_t rank = 0; rank < ranks; ++rank) {
                INFO("stage " << stage << " rank " << rank << " of " << ranks);
                CHECK(sent_bytes(*result.trace, rank, 1) == (stage == 3 ? 3 : 2) * once);
            }
        }
    }
}

TEST_CASE("what a rank holds: 4 bytes a parameter and gradient, 8 of Adam's, each cut from its stage on") {
    // Beyond the formulas: a layer's fresh gradients (128 + 16 or 128 + 8) before they are moved, and the
    // part that is just arriving.
    constexpr int64_t kFresh = 4 * (128 + 16);
    for (const int64_t n : {2, 4}) {
        const std::string layer_buckets = "bucket_cap_mb = 0.001";  // 280 elements
        for (const int stage : {1, 2, 3}) {
            INFO("stage " << stage << " of " << n);
            const auto result = run_text(wide(zero(stage, n, stage < 3 ? layer_buckets : "")));
            const auto category = [&](MemoryCategory c) { return held(*result.trace, 1, c); };
            const Held gradients = category(MemoryCategory::gradients);
            CHECK(category(MemoryCategory::optimizer_state).peak == 8 * kParameters / n);
            if (stage < 3) {
                CHECK(category(MemoryCategory::parameters).peak == 4 * kParameters);
                CHECK(category(MemoryCategory::sharded_parameters).peak == 0);
            } else {
                CHECK(category(MemoryCategory::parameters).peak == 0);
                CHECK(category(MemoryCategory::sharded_parameters).peak == 4 * kParameters / n);
                CHECK(category(MemoryCategory::unsharded_parameters).peak == 2 * 4 * 280);  // and the next
            }
            CHECK(gradients.last == 4 * kParameters / n);
            if (stage == 1) {
                CHECK(gradients.peak >= 4 * kParameters);
                CHECK(gradients.peak <= 4 * kParameters + kFresh);
            } else if (stage == 2) {
                CHECK(gradients.peak <= 4 * kParameters / n + kFresh);
                CHECK(category(MemoryCategory::communication).peak == 2 * 4 * 280);
            } else {
                CHECK(gradients.peak <= 4 * kParameters / n + 2 * 4 * 280);
            }
        }
    }
}

TEST_CASE("stage 1 scatters after the last backward, stage 2 bucket by bucket in every micro-batch") {
    const std::string buckets = "bucket_cap_mb = 0.0003";  // 314 bytes
    const auto one = run_text(mlp_scenario(zero(1, 2, buckets), kAdam, "accumulate = 2"));
    const auto two = run_text(mlp_scenario(zero(2, 2, buckets), kAdam, "accumulate = 2"));
    const auto scatters_in_backward_of = [](const run::RunResult& result, int32_t microbatch) {
        return std::ranges::count_if(result.trace->ranks[1].events, [&](const trace::Event& event) {
            return event.op == CollectiveOp::reduce_scatter && event.kind == trace::EventKind::collective &&
                   event.step == 1 && event.microbatch == microbatch;
        });
    };
    const auto buckets_of = count_of(collectives_of(*one.trace, 1, 1), "AG");
    CHECK(buckets_of > 2);
    CHECK(scatters_in_backward_of(one, 0) == 0);
    CHECK(scatters_in_backward_of(one, 1) == buckets_of);
    CHECK(scatters_in_backward_of(two, 0) == buckets_of);
    CHECK(scatters_in_backward_of(two, 1) == buckets_of);
    // In stage 2 a scatter leaves before backward has ended: the last layer's, before the first layer's
    // linear.
    const auto& events = two.trace->ranks[1].events;
    const auto first_scatter = std::ranges::find_if(
        events, [](const trace::Event& event) { return event.op == CollectiveOp::reduce_scatter; });
    CHECK(std::any_of(first_scatter, events.end(), [&](const trace::Event& event) {
        return event.microbatch == 0 && event.step == 0 &&
               two.trace->text(event.name) == "linear.weight_grad";
    }));
}

TEST_CASE("stage 3 gathers every unit twice, the root like the others") {
    const auto toy = run_text(toy_scenario(zero(3, 4), kAdam));
    CHECK(collectives_of(*toy.trace, 0, 1) == Rows{"AG 42->168", "AG 42->168", "RS 168->42"});
    const auto units = run_text(
        toy_scenario(zero(3, 4, "units = [\"net1\", \"net2\"]\nbackward_prefetch = \"none\""), kAdam));
    CHECK(collectives_of(*units.trace, 3, 1) ==
          Rows{"AG 28->112", "AG 14->56", "AG 14->56", "RS 56->14", "AG 28->112", "RS 112->28"});
}

TEST_CASE("ZeroRedundancyOptimizer deals parameters to the least loaded rank, the largest first") {
    using Parts = std::vector<std::vector<std::size_t>>;
    CHECK(parallel::partition_by_size(std::vector<int64_t>{100, 50, 10, 5}, 4) == Parts{{0}, {1}, {2}, {3}});
    CHECK(parallel::partition_by_size(std::vector<int64_t>{5, 10, 50, 100}, 2) == Parts{{3}, {2, 1, 0}});
    CHECK(parallel::partition_by_size(std::vector<int64_t>{7}, 3) == Parts{{0}, {}, {}});
}

TEST_CASE("ZeroRedundancyOptimizer's optimizer state is that of the parameters a rank owns") {
    const auto result = run_text(wide(zero(1, 2, "zero_variant = \"pytorch\"")));
    for (const int32_t rank : {0, 1})
        CHECK(held(*result.trace, rank, MemoryCategory::optimizer_state).peak == 8 * kParameters / 2);
    CHECK(count_of(collectives_of(*result.trace, 0, 1), "broadcast 128") == 8);
}

TEST_CASE("ZeRO trains like one rank in every stage") {
    static test::Sample sample(3);
    const std::string optimizer = GENERATE("kind = \"sgd\"\nlr = 0.05\nmomentum = 0.9",
                                           "kind = \"adamw\"\nlr = 0.003\nweight_decay = 0.1");
    const std::string train = GENERATE("clip_norm = 0.5", "accumulate = 2\nclip_norm = 1.0");
    const auto alone = run_text(mlp_scenario(one_rank(), optimizer, train));
    const std::string buckets = "bucket_cap_mb = 0.0003";
    for (const std::string& other :
         {zero(1, 2), zero(1, 3, buckets), zero(1, 4, "zero_variant = \"pytorch\""), zero(2, 2, buckets),
          zero(2, 3), zero(2, 1), zero(3, 2), zero(3, 3, "forward_prefetch = true"),
          zero(3, 4, "wrap = \"size\"\nwrap_min_elements = 60"), zero(3, 1)}) {
        if (!sample.takes()) continue;
        INFO(other << train);
        check_equal(run_text(mlp_scenario(other, optimizer, train)), alone);
    }
}

TEST_CASE("ZeRO trains ToyModel like one rank, on more ranks than some parameters have elements") {
    const auto alone = run_text(toy_scenario(one_rank(), kAdam));
    for (const int64_t ranks : {2, 8})
        for (const int stage : {1, 2, 3})
            check_equal(run_text(toy_scenario(zero(stage, ranks), kAdam)), alone);
    check_equal(run_text(toy_scenario(zero(1, 6, "zero_variant = \"pytorch\""), kAdam)), alone);
}
