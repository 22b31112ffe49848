// torch.nn.DataParallel: one process, its first device in the middle of everything.
#include <algorithm>

#include "core/memory/ledger.h"
#include "tests/parallel/train_helper.h"
#include "tests/test.h"

using namespace meshscope;
using namespace meshscope::test;
using Rows = std::vector<std::string>;

namespace {

const std::string kAdam = "kind = \"adam\"\nlr = 0.003";

std::string dp(int64_t devices, const std::string& keys = "") {
    return "[mesh]\nshape = [" + std::to_string(devices) + "]\n[parallel]\ndata = \"dp\"\n" + keys + "\n";
}

}  // namespace

TEST_CASE("DataParallel scatters, replicates, gathers, scatters back and sums, all through device 0") {
    // 24 rows of 10 in, 5 out, 165 parameters, on three devices.
    const auto result = run_text(toy_scenario(dp(3), kAdam));
    CHECK(collectives_of(*result.trace, 0, 1) ==
          Rows{"scatter 240", "broadcast 165", "gather 40", "scatter 120", "reduce 165"});
    for (const int32_t step : {0, 1, 2}) {  // replicas are made anew each time
        CHECK(sent_bytes(*result.trace, 0, step, CollectiveOp::broadcast) == 2 * 165 * 4);
        CHECK(sent_bytes(*result.trace, 0, step, CollectiveOp::scatter) == 2 * (80 + 40) * 4);
        CHECK(sent_bytes(*result.trace, 0, step) == 2 * (165 + 80 + 40) * 4);
        for (const int32_t other : {1, 2}) CHECK(sent_bytes(*result.trace, other, step) == (40 + 165) * 4);
    }
    const auto twice = run_text(toy_scenario(dp(2), kAdam, "accumulate = 2"));
    CHECK(count_of(collectives_of(*twice.trace, 0, 1), "broadcast") == 2);
}

TEST_CASE("DataParallel's device 0 holds the optimizer, all outputs and the model: the others a replica") {
    const auto result = run_text(mlp_scenario(dp(3), kAdam));
    const auto of = [&](int32_t rank, MemoryCategory category) {
        return held(*result.trace, rank, category);
    };
    constexpr int64_t kModel = 4 * 3 * (60 + 10 + 60 + 6);
    CHECK(of(0, MemoryCategory::parameters).peak == kModel);
    CHECK(of(0, MemoryCategory::optimizer_state).peak == 2 * kModel);
    for (const int32_t other : {1, 2}) {
        CHECK(of(other, MemoryCategory::parameters).peak == kModel);
        CHECK(of(other, MemoryCategory::optimizer_state).peak == 0);
        // Between steps they hold nothing.
        int64_t now = 0;
        for (const trace::MemoryChange& change : result.trace->ranks[static_cast<std::size_t>(other)].memory)
            now += change.delta_bytes;
        CHECK(now == 0);
        CHECK(memory::peak(*result.trace, 0).bytes > memory::peak(*result.trace, other).bytes);
        CHECK(std::ranges::none_of(result.trace->ranks[static_cast<std::size_t>(other)].events,
                                   [&](const trace::Event& event) {
                                       const std::string_view name = result.trace->text(event.name);
                                       return name == "adam" || name.starts_with("mse");
                                   }));
    }
}

TEST_CASE("DataParallel trains like one device") {
    const std::string optimizer = GENERATE("kind = \"sgd\"\nlr = 0.05\nmomentum = 0.9",
                                           "kind = \"adamw\"\nlr = 0.003\nweight_decay = 0.1");
    const std::string train = GENERATE("clip_norm = 0.5", "accumulate = 2\nclip_norm = 1.0");
    const auto alone = run_text(mlp_scenario(one_rank(), optimizer, train));
    for (const int64_t devices : {1, 2, 3, 4})
        check_equal(run_text(mlp_scenario(dp(devices), optimizer, train)), alone);
}

TEST_CASE("DataParallel trains a transformer with a tied head like one device") {
    const auto gpt = [](const std::string& rest) {
        return "format = 1\n[model]\nkind = \"gpt\"\ndim = 8\nhidden = 16\nlayers = 2\nheads = 2\nvocab = "
               "11\nseq = 4\ntied = true\nseed = 4\n[data]\nseed = 2\n[train]\nsteps = 3\nglobal_batch = "
               "4\n[optimizer]\n" +
               kAdam + "\n" + rest;
    };
    check_equal(run_text(gpt(dp(2))), run_text(gpt(one_rank())));
}
