// The traces that PyTorch 2.15's fully_shard leaves for Linear(10,10), ReLU, Linear(10,5), element for
// element.
#include "core/run/dry.h"
#include "tests/parallel/run_helper.h"
#include "tests/test.h"

using namespace meshscope;
using namespace meshscope::test;
using Rows = std::vector<std::string>;

namespace {

std::string toy(const std::string& mesh, const std::string& parallel,
                const std::string& train = "global_batch = 8") {
    return "format = 1\n[model]\nkind = \"toy\"\nseed = 1\n[data]\nkind = \"regression\"\nsamples = 64\nseed "
           "= 2\n[train]\nsteps = 2\n" +
           train + "\n[optimizer]\nkind = \"sgd\"\nlr = 0.1\n[mesh]\n" + mesh +
           "\n[parallel]\ndata = \"fsdp2\"\n" + parallel + "\n";
}

const std::string kEachLinear = "units = [[\"net1\"], [\"net2\"]]";

}  // namespace

TEST_CASE("FSDP2 on four ranks pads 110 to 132 and 55 to 88") {
    const auto result = run_text(toy("shape = [4]\nnames = [\"shard\"]", kEachLinear));
    for (int32_t rank = 0; rank < 4; ++rank)
        CHECK(collectives_of(*result.trace, rank, 1) ==
              Rows{"AG 33->132", "AG 22->88", "AG 22->88", "AG 33->132", "RS 88->22", "RS 132->33"});
}

TEST_CASE("HSDP on (2,2) gathers and scatters inside, all-reduces the shard across") {
    const auto result = run_text(toy("shape = [2, 2]\nnames = [\"replicate\", \"shard\"]", kEachLinear));
    for (int32_t rank = 0; rank < 4; ++rank) {
        CHECK(collectives_of(*result.trace, rank, 1) == Rows{"AG 55->110", "AG 33->66", "AG 33->66",
                                                             "AG 55->110", "RS 66->33", "AR 33", "RS 110->55",
                                                             "AR 55"});
        int prefetched = 0;
        for (const trace::Event& event : result.trace->ranks[static_cast<std::size_t>(rank)].events)
            if (event.step == 1 && event.prefetch) {
                ++prefetched;
                CHECK(result.trace->text(event.unit) == "net1");
                CHECK(result.trace->text(event.rule) == "fsdp2.prefetch.backward");
            }
        CHECK(prefetched == 1);
    }
}

TEST_CASE("HSDP with one rank a shard group gathers nothing") {
    const auto result = run_text(toy("shape = [4, 1]\nnames = [\"replicate\", \"shard\"]", ""));
    CHECK(collectives_of(*result.trace, 2, 1) == Rows{"AR 165"});
}

TEST_CASE("HSDP with one replica still issues its all_reduce, on a group of one") {
    const auto result = run_text(toy("shape = [1, 4]\nnames = [\"replicate\", \"shard\"]", ""));
    CHECK(collectives_of(*result.trace, 1, 1) == Rows{"AG 55->220", "AG 55->220", "RS 220->55", "AR 55"});
}

TEST_CASE("kept after forward, a unit is gathered once") {
    const auto result =
        run_text(toy("shape = [2]\nnames = [\"shard\"]", kEachLinear + "\nreshard_after_forward = false"));
    CHECK(collectives_of(*result.trace, 0, 1) == Rows{"AG 55->110", "AG 33->66", "RS 66->33", "RS 110->55"});
}

TEST_CASE("without the prefetch the gathers stand just before their use") {
    const auto result =
        run_text(toy("shape = [2]\nnames = [\"shard\"]", kEachLinear + "\nbackward_prefetch = false"));
    CHECK(collectives_of(*result.trace, 0, 1) ==
          Rows{"AG 55->110", "AG 33->66", "AG 33->66", "RS 66->33", "AG 55->110", "RS 110->55"});
}

TEST_CASE("accumulating over three micro-batches: 12 gathers, 13 with set_is_last_backward") {
    const std::string mesh = "shape = [2, 2]\nnames = [\"replicate\", \"shard\"]";
    const std::string train = "global_batch = 12\naccumulate = 3";
    const Rows plain = collectives_of(*run_text(toy(mesh, kEachLinear, train)).trace, 0, 1);
    CHECK(count_of(plain, "AG") == 12);
    CHECK(count_of(plain, "RS") == 2);
    CHECK(count_of(plain, "AR") == 2);
    const Rows last =
        collectives_of(*run_text(toy(mesh, kEachLinear + "\nis_last_backward = true", train)).trace, 0, 1);
    CHECK(count_of(last, "AG") == 13);
    CHECK(count_of(last, "RS") == 2);
    CHECK(count_of(last, "AR") == 2);
}

TEST_CASE("what a step sends: DDP 990 B a rank, FSDP2 1,980 B, HSDP 1,056 B inside and 352 B across") {
    // Ring, float32, four ranks. 165 does not divide by 4, so DDP's ranks differ by a chunk; the mean is
    // exact.
    const auto sent = [](const trace::Trace& trace, int32_t step, const std::string& dim) {
        int64_t bytes = 0;
        for (const trace::RankTrace& rank : trace.ranks)
            for (const trace::Event& event : rank.events)
                if (event.kind == trace::EventKind::collective && event.step == step &&
                    event.op != CollectiveOp::broadcast &&
                    trace.groups[static_cast<std::size_t>(event.group)].mesh_dim == dim)
                    bytes += event.sent_bytes;
        return bytes;
    };
    std::string ddp = toy("shape = [4]\nnames = [\"replicate\"]", "");
    ddp.replace(ddp.find("fsdp2"), 5, "ddp");
    CHECK(sent(*run_text(ddp).trace, 1, "replicate") == 4 * 990);
    CHECK(sent(*run_text(toy("shape = [4]\nnames = [\"shard\"]", kEachLinear)).trace, 1, "shard") ==
          4 * 1980);
    const auto hsdp = run_text(toy("shape = [2, 2]\nnames = [\"replicate\", \"shard\"]", kEachLinear));
    CHECK(sent(*hsdp.trace, 1, "shard") == 4 * 1056);
    CHECK(sent(*hsdp.trace, 1, "replicate") == 4 * 352);
}

TEST_CASE("where every dim divides, FSDP2 sends 1.5 times what DDP does: padding makes it 2 on ToyModel") {
    const auto sent = [](const std::string& names, const std::string& strategy) {
        const auto dry = run::run_dry(
            scenario::parse_scenario("format = 1\n[model]\nkind = \"mlp\"\ndim = 4096\nhidden = "
                                     "4096\nlayers = 1\n[train]\nsteps = 3\nglobal_batch = "
                                     "4\n[mesh]\nshape = [4]\nnames = [\"" +
                                         names + "\"]\n[parallel]\ndata = \"" + strategy + "\"\n",
                                     "test.toml"),
            {});
        return sent_bytes(*dry.trace, 0, 2);
    };
    CHECK(sent("shard", "fsdp2") * 2 == sent("replicate", "ddp") * 3);
}
