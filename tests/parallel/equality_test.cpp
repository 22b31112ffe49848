// Whatever the strategy, training is the same training: losses and weights equal those of one rank.
#include <cmath>

#include "tests/parallel/run_helper.h"
#include "tests/test.h"

using namespace meshscope;
using namespace meshscope::test;

namespace {

std::string mlp(const std::string& mesh_and_parallel, const std::string& optimizer) {
    return "format = 1\n[model]\nkind = \"mlp\"\ndim = 6\nhidden = 10\nlayers = 3\nseed = 7\n[data]\nkind = "
           "\"regression\"\nsamples = 480\n"
           "seed = 3\n[train]\nsteps = 10\nglobal_batch = 24\nclip_norm = 1.0\n[optimizer]\n" +
           optimizer + "\n" + mesh_and_parallel;
}

void check_equal(const run::RunResult& a, const run::RunResult& b) {
    REQUIRE(a.trace->info.losses.size() == b.trace->info.losses.size());
    for (std::size_t s = 0; s < a.trace->info.losses.size(); ++s)
        CHECK(a.trace->info.losses[s] == Approx(b.trace->info.losses[s]).epsilon(2e-5));
    for (std::size_t s = 0; s < a.trace->info.grad_norms.size(); ++s)
        CHECK(a.trace->info.grad_norms[s] == Approx(b.trace->info.grad_norms[s]).epsilon(1e-4));
    REQUIRE(a.parameters.size() == b.parameters.size());
    for (std::size_t p = 0; p < a.parameters.size(); ++p) {
        INFO(a.parameters[p].name);
        double worst = 0;
        for (std::size_t i = 0; i < a.parameters[p].numbers.size(); ++i) {
            const double x = double(a.parameters[p].numbers[i]), y = double(b.parameters[p].numbers[i]);
            worst = std::max(worst, std::abs(x - y) - 2e-4 * std::abs(y));
        }
        CHECK(worst <= 2e-5);
    }
}

}  // namespace

TEST_CASE("DDP, FSDP2 and HSDP train like one rank") {
    const std::string optimizer =
        GENERATE("kind = \"sgd\"\nlr = 0.05\nmomentum = 0.9", "kind = \"adam\"\nlr = 0.003",
                 "kind = \"adamw\"\nlr = 0.003\nweight_decay = 0.1");
    const auto alone = run_text(
        mlp("[mesh]\nshape = [1]\nnames = [\"replicate\"]\n[parallel]\ndata = \"none\"\n", optimizer));
    for (const std::string other :
         {"[mesh]\nshape = [3]\nnames = [\"replicate\"]\n[parallel]\ndata = \"ddp\"\nbucket_cap_mb = "
          "0.0003\n",
          "[mesh]\nshape = [4]\nnames = [\"shard\"]\n[parallel]\ndata = \"fsdp2\"\n",
          "[mesh]\nshape = [8]\nnames = [\"shard\"]\n[parallel]\ndata = \"fsdp2\"\nalgorithm = \"direct\"\n",
          "[mesh]\nshape = [2]\nnames = [\"shard\"]\n[parallel]\ndata = \"fsdp2\"\nunits = [[\"layers.0\", "
          "\"layers.1\"]]\nreshard_after_forward = \"default\"\n",
          "[mesh]\nshape = [2, 3]\nnames = [\"replicate\", \"shard\"]\n[parallel]\ndata = \"fsdp2\"\n"}) {
        INFO(other);
        check_equal(run_text(mlp(other, optimizer)), alone);
    }
}

TEST_CASE("the same scenario run 100 times gives the same bits and the same order of events") {
    const std::string text =
        mlp("[mesh]\nshape = [2, 2]\nnames = [\"replicate\", \"shard\"]\n[parallel]\ndata = \"fsdp2\"\n",
            "kind = \"adamw\"\nlr = 0.003");
    const auto first = run_text(text);
    for (int again = 1; again < 100; ++again) {
        const auto next = run_text(text);
        CHECK(next.trace->info.losses == first.trace->info.losses);
        for (std::size_t p = 0; p < first.parameters.size(); ++p)
            CHECK(next.parameters[p].numbers == first.parameters[p].numbers);
        for (std::size_t r = 0; r < first.trace->ranks.size(); ++r) {
            const auto& a = first.trace->ranks[r].events;
            const auto& b = next.trace->ranks[r].events;
            REQUIRE(a.size() == b.size());
            bool same = true;
            for (std::size_t i = 0; i < a.size(); ++i)
                same = same && a[i].kind == b[i].kind && a[i].op == b[i].op &&
                       a[i].sequence == b[i].sequence && a[i].in_elements == b[i].in_elements &&
                       a[i].sent_bytes == b[i].sent_bytes &&
                       first.trace->text(a[i].unit) == next.trace->text(b[i].unit) &&
                       first.trace->text(a[i].rule) == next.trace->text(b[i].rule);
            CHECK(same);
        }
    }
}
