#include "app/gui/sandbox/what_if.h"

#include <algorithm>

#include "tests/test.h"

using namespace meshscope;
using namespace meshscope::sandbox;

namespace {

const std::string kFile =
    "format = 1\n[model]\nkind = \"toy\"\n[train]\nsteps = 3\nglobal_batch = 8\n"
    "[mesh]\nshape = [2, 2]\nnames = [\"replicate\", \"shard\"]\n"
    "[parallel]\ndata = \"fsdp2\"\nunits = [[\"net1\"], [\"net2\"]]\n";

std::vector<std::string> ids(const std::string& text) {
    std::vector<std::string> found;
    for (const WhatIf& what : what_ifs(text, "")) found.push_back(what.id);
    return found;
}

}  // namespace

TEST_CASE("FSDP2 can be asked all five questions, and each is a scenario that the reader takes") {
    CHECK(ids(kFile) ==
          std::vector<std::string>{"keep", "no_prefetch", "layer_units", "offload", "recompute"});
    for (const WhatIf& what : what_ifs(kFile, "")) {
        INFO(what.id);
        CHECK_FALSE(what.refused.has_value());
        CHECK(read_text(changed_text(kFile, what.changes), "").scenario);
    }
    CHECK(what_ifs(kFile, "")[0].code == "reshard_after_forward = false");
}

TEST_CASE("what is so already is asked the other way round") {
    std::string text = kFile;
    for (const WhatIf& what : what_ifs(kFile, "")) text = changed_text(text, what.changes);
    CHECK(ids(text) ==
          std::vector<std::string>{"free", "prefetch", "one_unit", "no_offload", "no_recompute"});
}

TEST_CASE("what a lesson tells to change is read from its file") {
    const std::string lesson = kFile +
                               "[lesson]\nchapter = 6\n[[lesson.variant]]\nid = \"change\"\n"
                               "set = { \"mesh.shape\" = [1, 4] }\nunset = [\"parallel.units\"]\n";
    const auto changes = variant_changes(lesson, "", "change");
    REQUIRE(changes.size() == 2);
    const Reading changed = read_text(changed_text(lesson, changes), "");
    CHECK(changed.value("mesh.shape") == "[1, 4]");
    CHECK(changed.value("parallel.units").empty());
    CHECK(variant_changes(lesson, "", "break").empty());
    CHECK(variant_changes("format = 9\n", "", "change").empty());
}

TEST_CASE("what a strategy has not is refused in the reader's words") {
    const std::string ddp = changed_text(
        kFile, {{"parallel.data", "\"ddp\""}, {"parallel.units", ""}, {"mesh.names", "[\"a\", \"b\"]"}});
    const std::string one = changed_text(ddp, {{"mesh.shape", "[4]"}, {"mesh.names", ""}});
    const auto asked = what_ifs(one, "");
    REQUIRE(asked.size() == 5);
    for (const WhatIf& what : asked) {
        INFO(what.id);
        CHECK(what.refused.has_value() == (what.id != "recompute"));
    }
    CHECK(what_ifs("format = 1\n", "").empty());
}

TEST_CASE(
    "of a prediction of eager PyTorch's kernels nothing is asked that would be run, and it is said why") {
    const std::string eager =
        "format = 1\n[model]\nkind = \"gpt\"\ndim = 8\nhidden = 8\nlayers = 2\nvocab = 16\nseq = 4\n"
        "heads = 2\n[train]\nsteps = 1\nglobal_batch = 2\n[memory]\nops = \"pytorch\"\nloss = \"kernel\"\n"
        "[mesh]\nshape = [2]\n[parallel]\ndata = \"fsdp2\"\n";
    const auto asked = what_ifs(eager, "");
    REQUIRE(asked.size() == 5);
    for (const WhatIf& what : asked) {
        INFO(what.id);
        REQUIRE(what.refused);
        CHECK(what.refused->id == "run.memory_ops");
    }
    const auto fused = what_ifs(changed_text(eager, {{"memory", ""}}), "");
    REQUIRE(fused.size() == 5);
    for (std::size_t i = 0; i < fused.size(); ++i) {
        CHECK(fused[i].id == asked[i].id);
        CHECK_FALSE(fused[i].refused);
    }
}
