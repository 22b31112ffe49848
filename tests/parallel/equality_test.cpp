// Whatever the strategy, training is the same training: losses and weights equal those of one rank.
#include "tests/parallel/train_helper.h"
#include "tests/sanitizer.h"
#include "tests/test.h"

using namespace meshscope;
using namespace meshscope::test;

namespace {

std::string mlp(const std::string& mesh_and_parallel, const std::string& optimizer) {
    return mlp_scenario(mesh_and_parallel, optimizer, "clip_norm = 1.0");
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
    for (int again = 1; again < (test::kSanitizer ? 20 : 100); ++again) {
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
