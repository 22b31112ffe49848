// gpt and llama for fifty steps: whatever the strategy, training is the same training.
#include <cmath>

#include "tests/parallel/train_helper.h"
#include "tests/test.h"

using namespace meshscope;
using namespace meshscope::test;

namespace {

/// A small model of tokens, fifty steps of 8 samples; `rest` holds [mesh] and [parallel].
std::string tokens_scenario(const std::string& kind, const std::string& rest) {
    return "format = 1\n[model]\nkind = \"" + kind +
           "\"\ndim = 16\nhidden = 24\nlayers = 2\nvocab = 13\nseq = 6\nheads = 4\nseed = 3\n" +
           (kind == "llama" ? "kv_heads = 2\n" : "tied = true\n") +
           "[data]\nseed = 4\nsamples = 40\n[train]\nsteps = 50\nglobal_batch = 8\nclip_norm = 1.0\n"
           "[optimizer]\nkind = \"adamw\"\nlr = 0.003\n" +
           rest;
}

}  // namespace

TEST_CASE("gpt and llama train for fifty steps with DDP, FSDP2 and HSDP as on one rank, and learn") {
    const std::string kind = GENERATE("gpt", "llama");
    INFO(kind);
    const auto alone = run_text(tokens_scenario(kind, one_rank()));
    const std::vector<double>& losses = alone.trace->info.losses;
    REQUIRE(losses.size() == 50);
    CHECK(losses.front() == Approx(std::log(13.0)).epsilon(0.1));  // knows nothing: every token is as likely
    CHECK(losses.back() < 0.8 * losses.front());
    for (const std::string rest :
         {"[mesh]\nshape = [2]\nnames = [\"replicate\"]\n[parallel]\ndata = \"ddp\"\nbucket_cap_mb = 0.002\n",
          "[mesh]\nshape = [4]\nnames = [\"shard\"]\n[parallel]\ndata = \"fsdp2\"\n",
          "[mesh]\nshape = [2, 2]\nnames = [\"replicate\", \"shard\"]\n[parallel]\ndata = \"fsdp2\"\n"}) {
        INFO(rest);
        check_equal(run_text(tokens_scenario(kind, rest)), alone);
    }
}
