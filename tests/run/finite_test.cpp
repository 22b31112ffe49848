// The first number that is not finite: which rank made it, by which op.
#include "core/run/finite.h"

#include "backends/registry.h"
#include "core/run/run.h"
#include "tests/test.h"

using namespace meshscope;

TEST_CASE("in a pipeline the stage that made it is named, not those that received it") {
    // After two huge updates the last stage's first backward divides by nothing; its gradients travel on.
    const std::string schedule = GENERATE("GPipe", "1F1B", "Interleaved1F1B", "LoopedBFS",
                                          "InterleavedZeroBubble", "ZBVZeroBubble", "DualPipeV");
    INFO(schedule);
    const std::string text =
        "format = 1\n[mesh]\nshape = [2]\nnames = [\"pp\"]\n[model]\nkind = \"gpt\"\ndim = 32\nhidden = 64\n"
        "layers = 4\nheads = 4\nvocab = 32\nseq = 16\nseed = 3\n[train]\nsteps = 4\nglobal_batch = 8\n"
        "[optimizer]\nkind = \"sgd\"\nlr = 1e9\n[parallel]\nmicrobatches = 4\nschedule = \"" +
        schedule + "\"\n";
    const auto found =
        run::run_scenario(scenario::parse_scenario(text, "s.toml"), *backends::make_registry()).not_finite;
    REQUIRE(found);
    REQUIRE(found->found);
    CHECK(found->step == 2);
    CHECK(found->op == "ln_f: layer_norm");
    CHECK(found->phase == Phase::backward);
    const bool is_v =
        schedule == "ZBVZeroBubble" || schedule == "DualPipeV";  // rank 0 has the last stage too
    CHECK(found->rank == (is_v ? 0 : 1));
}
