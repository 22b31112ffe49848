#include "app/gui/sandbox/draft.h"

#include "tests/test.h"

using namespace meshscope;
using namespace meshscope::sandbox;

namespace {

const std::string kFile =
    "format = 1\n[model]\nkind = \"toy\"\n[train]\nsteps = 3\nglobal_batch = 8\n"
    "[mesh]\nshape = [2, 2]\nnames = [\"replicate\", \"shard\"]\n"
    "[parallel]\ndata = \"fsdp2\"\n";

}  // namespace

TEST_CASE("every edit is taken back and done again, in order, to the byte") {
    Draft draft(kFile, "four.toml");
    std::vector<std::string> texts{draft.text()};
    const std::vector<Change> edits{{"mesh.shape", "[4, 2]"},     {"train.steps", "2"},
                                    {"parallel.data", "\"ddp\""}, {"mesh.names", ""},
                                    {"model.seed", "3"},          {"optimizer.lr", "0.2"},
                                    {"faults.kind", "\"kill\""},  {"train.steps", "5"}};
    for (const Change& edit : edits) {
        CHECK(draft.edit({edit}));
        texts.push_back(draft.text());
    }
    CHECK_FALSE(draft.can_redo());
    for (std::size_t i = edits.size(); i-- > 0;) {
        CHECK(draft.undo());
        CHECK(draft.text() == texts[i]);
    }
    CHECK_FALSE(draft.undo());
    CHECK(draft.changed_keys().empty());
    for (std::size_t i = 1; i < texts.size(); ++i) {
        CHECK(draft.redo());
        CHECK(draft.text() == texts[i]);
    }
    CHECK_FALSE(draft.redo());
    // An edit after an undo ends what could be done again.
    draft.undo();
    CHECK(draft.edit({{"train.steps", "7"}}));
    CHECK_FALSE(draft.can_redo());
    CHECK_FALSE(draft.edit({{"train.steps", "7"}}));
}

TEST_CASE("what is typed into one field is one edit") {
    Draft draft(kFile, "four.toml");
    for (const char* typed : {"1", "12", "128"}) draft.edit({{"train.global_batch", typed}}, true);
    draft.edit({{"train.steps", "4"}}, true);
    draft.edit({{"train.global_batch", "6"}}, true);
    CHECK(draft.reading().value("train.global_batch") == "6");
    draft.undo();
    CHECK(draft.reading().value("train.global_batch") == "128");
    draft.undo();
    draft.undo();
    CHECK(draft.text() == kFile);
    // After an undo typing begins anew.
    draft.redo();
    draft.edit({{"train.global_batch", "64"}}, true);
    draft.undo();
    CHECK(draft.reading().value("train.global_batch") == "128");
}

TEST_CASE("a mistake is marked at its field, with the reader's message and its place") {
    Draft draft(kFile, "four.toml");
    REQUIRE(draft.reading().scenario);
    CHECK(draft.mistakes().empty());

    draft.edit({{"train.steps", "\"three\""}});
    REQUIRE(draft.mistakes_at("train.steps").size() == 1);
    CHECK_FALSE(draft.reading().scenario);
    const Diagnostic type = draft.mistakes_at("train.steps")[0].diagnostic;
    CHECK(type.message.id == "scenario.wrong_type");
    CHECK(type.position.line == 5);
    CHECK(type.position.column == 9);
    CHECK(type.position.file == "four.toml");
    draft.undo();

    draft.edit({{"mesh.shape", "[2, 0]"}});
    REQUIRE_FALSE(draft.mistakes_at("mesh.shape").empty());
    CHECK(draft.mistakes_at("mesh.shape")[0].diagnostic.position.line == 8);
    draft.undo();

    draft.edit({{"train.global_batch", "6"}});
    REQUIRE_FALSE(draft.mistakes().empty());
    CHECK(draft.mistakes()[0].diagnostic.message.id == "scenario.batch_does_not_divide");
    CHECK(draft.mistakes()[0].key == "train.global_batch");
    draft.undo();

    // A key that is missing has no place of its own: its message names it.
    draft.edit({{"train.steps", ""}});
    CHECK(draft.mistakes_at("train.steps").size() == 1);
    draft.undo();

    draft.edit({{"parallel.data", "\"fsdp3\""}, {"model.kind", "\"tony\""}});
    CHECK(draft.mistakes_at("parallel.data").size() == 1);
    CHECK(draft.mistakes_at("model.kind").size() == 1);
    CHECK(draft.mistakes_at("parallel.data")[0].diagnostic.hint.id != "");
}

TEST_CASE("what a run ended with is marked until the next edit") {
    Draft draft(kFile, "four.toml");
    draft.run_ended_with({{{"run.fault_never_came", {}}, {"four.toml", 8, 10, -1}, {}}});
    CHECK(draft.mistakes_at("mesh.shape").size() == 1);
    CHECK(draft.reading().scenario);
    draft.edit({{"train.steps", "2"}});
    CHECK(draft.mistakes().empty());
}

TEST_CASE("a run is called after what was changed") {
    Draft draft(kFile, "four.toml");
    CHECK(run_name("four", draft.changed_keys()) == "four");
    draft.edit({{"mesh.shape", "[4, 2]"}});
    CHECK(run_name("four", draft.changed_keys()) == "four · shape");
    draft.edit({{"train.global_batch", "16"}});
    CHECK(run_name("four", draft.changed_keys()) == "four · shape, global_batch");
    draft.edit({{"faults.kind", "\"kill\""}, {"faults.rank", "0"}, {"faults.step", "0"}});
    CHECK(draft.changed_keys() == std::vector<std::string>{"faults.kind", "faults.rank", "faults.step",
                                                           "mesh.shape", "train.global_batch"});
    CHECK(run_name("four", draft.changed_keys()) == "four · kind +4");
}

TEST_CASE("a text that is no TOML is a mistake like any other") {
    const Draft draft("format = = 1\n", "broken.toml");
    REQUIRE(draft.mistakes().size() == 1);
    CHECK(draft.mistakes()[0].diagnostic.message.id == "toml.syntax.value");
    CHECK(draft.mistakes()[0].diagnostic.position.line == 1);
}
