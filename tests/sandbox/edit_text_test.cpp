#include "app/gui/sandbox/edit_text.h"

#include "app/gui/sandbox/reading.h"
#include "app/gui/sandbox/toml_text.h"
#include "core/base/error.h"
#include "core/base/toml_text.h"
#include "tests/test.h"

using namespace meshscope;
using namespace meshscope::sandbox;

namespace {

const std::string kFile = R"(# A run of four.
format = 1
title = { en = "Four", zh = "四个" }

[model]
kind = "toy"   # two layers

[train]
steps = 3
global_batch = 8

[mesh]
shape = [2, 2]
names = ["replicate", "shard"]

[parallel]
data = "fsdp2"

# What the lesson says.
[lesson]
chapter = 6

[[lesson.step]]
id = "one"
at = "SELECT id FROM collectives WHERE 1 = 1"

[[check]]
id = "true"
sql = "SELECT 1"
)";

std::string replaced(std::string text, const std::string& from, const std::string& to) {
    const std::size_t at = text.find(from);
    REQUIRE(at != std::string::npos);
    return text.replace(at, from.size(), to);
}

}  // namespace

TEST_CASE("an edit changes its own words and leaves every other byte") {
    CHECK(changed_text(kFile, {{"mesh.shape", "[4, 2]"}}) == replaced(kFile, "[2, 2]", "[4, 2]"));
    CHECK(changed_text(kFile, {{"model.kind", "\"mlp\""}}) == replaced(kFile, "\"toy\"", "\"mlp\""));
    CHECK(changed_text(kFile, {{"train.steps", "3"}}) == kFile);
    CHECK(changed_text(kFile, {}) == kFile);
}

TEST_CASE("a new key stands below its table's last, a new table before the lesson") {
    CHECK(changed_text(kFile, {{"train.recompute", "\"full\""}}) ==
          replaced(kFile, "global_batch = 8\n", "global_batch = 8\nrecompute = \"full\"\n"));
    CHECK(changed_text(kFile, {{"optimizer.lr", "0.5"}}) ==
          replaced(kFile, "\n# What the lesson says.", "\n[optimizer]\nlr = 0.5\n\n# What the lesson says."));
    CHECK(changed_text("format = 1\n[model]", {{"model.kind", "\"toy\""}}) ==
          "format = 1\n[model]\nkind = \"toy\"\n");
}

TEST_CASE("a key that is taken away takes its line along") {
    CHECK(changed_text(kFile, {{"mesh.names", ""}}) ==
          replaced(kFile, "names = [\"replicate\", \"shard\"]\n", ""));
    CHECK(changed_text(kFile, {{"mesh.world", ""}}) == kFile);
    CHECK(changed_text(kFile, {{"nowhere.at_all", ""}}) == kFile);
}

TEST_CASE("a key in a small table is set, added and taken away there") {
    const std::string with = changed_text(kFile, {{"parallel.mixed_precision.param", "\"bfloat16\""}});
    CHECK(with == replaced(kFile, "data = \"fsdp2\"\n",
                           "data = \"fsdp2\"\nmixed_precision = { param = \"bfloat16\" }\n"));
    const std::string both = changed_text(with, {{"parallel.mixed_precision.reduce", "\"float32\""}});
    CHECK(both.find("{ param = \"bfloat16\", reduce = \"float32\" }") != std::string::npos);
    const std::string one = changed_text(both, {{"parallel.mixed_precision.param", ""}});
    CHECK(node_at(toml::parse(one), "parallel.mixed_precision.param") == nullptr);
    CHECK(value_text(*node_at(toml::parse(one), "parallel.mixed_precision.reduce")) == "\"float32\"");
}

TEST_CASE("of an array of tables the first is meant, and is made when there is none") {
    const std::string with =
        changed_text(kFile, {{"faults.kind", "\"kill\""}, {"faults.rank", "2"}, {"faults.step", "1"}});
    CHECK(with == replaced(kFile, "\n# What the lesson says.",
                           "\n[[faults]]\nkind = \"kill\"\nrank = 2\nstep = 1\n\n# What the lesson says."));
    CHECK(changed_text(with, {{"faults.rank", "3"}}) == replaced(with, "rank = 2", "rank = 3"));
    CHECK(toml::parse(changed_text(with, {{"faults", ""}})) == toml::parse(kFile));
}

TEST_CASE("a file that is written in an unusual way still says what it is told") {
    const std::string odd =
        "format = 1\nmesh.shape = [4]\nmodel = { kind = \"toy\" }\n"
        "train = { steps = 1, global_batch = 8 }\n";
    for (const Change& change :
         {Change{"mesh.names", "[\"replicate\"]"}, Change{"mesh.shape", ""}, Change{"model.seed", "7"},
          Change{"train.steps", "2"}, Change{"train.global_batch", ""}, Change{"optimizer.lr", "0.5"}}) {
        INFO(change.key);
        const toml::table now = toml::parse(changed_text(odd, {change}));
        const toml::node* node = node_at(now, change.key);
        CHECK((node == nullptr ? "" : value_text(*node)) == change.value);
        for (const char* other : {"format", "mesh.shape", "model.kind", "train.steps", "train.global_batch"})
            if (other != change.key) {
                INFO(other);
                REQUIRE(node_at(now, other) != nullptr);
                CHECK(value_text(*node_at(now, other)) == value_text(*node_at(toml::parse(odd), other)));
            }
    }
}

TEST_CASE("what is no TOML is refused, and does no harm") {
    CHECK_THROWS_AS(changed_text(kFile, {{"train.steps", "3 4"}}), InvalidArgument);
    CHECK_THROWS_AS(changed_text(kFile, {{"train.steps", "3\n[mesh]"}}), InvalidArgument);
    CHECK_THROWS_AS(changed_text("format = = 1", {}), InputError);
    CHECK(parse_value("3 # of them") != nullptr);
    CHECK(parse_value("") == nullptr);
    CHECK(toml_string("a\"b\\c\n\x01é") == "\"a\\\"b\\\\c\\n\\u0001é\"");
}

TEST_CASE("without the lesson a file keeps its other lines") {
    const std::string kept = without_lesson(kFile);
    CHECK(kept == kFile.substr(0, kFile.find("\n# What the lesson says.")));
    CHECK(without_lesson(kept) == kept);
    // A table after the lesson stays, a bracket in a text is no table.
    const std::string late =
        kFile + "question = \"\"\"\n[mesh]\n\"\"\"\n# Four in all.\n[hardware]\nranks_per_node = 2\n";
    toml::table wanted = toml::parse(late);
    wanted.erase("lesson");
    wanted.erase("check");
    CHECK(toml::parse(without_lesson(late)) == wanted);
}

TEST_CASE("what is saved elsewhere still leads to the same files") {
    const std::string file =
        "format = 1\n[model]\nkind = \"toy\"\nweights = \"init.safetensors\"\n"
        "[data]\nfile = \"/data/x.safetensors\"\n[train]\nsteps = 1\nglobal_batch = 4\n"
        "[hardware]\nprofile = \"my.toml\"\n[compare]\nscenarios = [\"b.toml\"]\n";
    const toml::table moved = toml::parse(saved_text(file, SaveForm::whole, "/lessons/a", "/lessons/b/c"));
    const auto at = [&](const char* key) { return node_at(moved, key)->as_string()->get(); };
    CHECK(at("model.weights") == "../../a/init.safetensors");
    CHECK(at("data.file") == "/data/x.safetensors");
    CHECK(at("hardware.profile") == "../../a/my.toml");
    CHECK(value_text(*node_at(moved, "compare.scenarios")) == "[\"../../a/b.toml\"]");
    CHECK(saved_text(file, SaveForm::whole, "/lessons/a", "/lessons/a") == file);
}

TEST_CASE("a model that a configuration names is edited, moved and saved with what overrules it") {
    const std::string rest = "[train]\nsteps = 1\nglobal_batch = 4\n";
    const std::string table = "format = 1\n[model]\nkind = \"hf:q/config.json\"\ntied = false\n" + rest;
    const auto kind_in = [](const std::string& text) {
        return node_at(toml::parse(text), "model.kind")->as_string()->get();
    };
    CHECK(kind_in(saved_text(table, SaveForm::whole, "/lessons/a", "/lessons/b")) == "hf:../a/q/config.json");
    // Tied may be what the configuration says: a default is no default there.
    const std::string brief = saved_text(table, SaveForm::brief, "/lessons/a", "/lessons/a");
    CHECK(brief.find("tied = false") != std::string::npos);
    const std::string alone = "format = 1\nmodel = \"hf:q/config.json\"\n" + rest;
    CHECK(kind_in(saved_text(alone, SaveForm::whole, "/lessons/a", "/lessons/b")) == "hf:../a/q/config.json");
    const std::string cut = changed_text(alone, {{"model.layers", "2"}});
    CHECK(kind_in(cut) == "hf:q/config.json");
    CHECK(value_text(*node_at(toml::parse(cut), "model.layers")) == "2");
}

TEST_CASE("the brief form leaves out what a default says, and stands in the document's order") {
    const std::string file =
        "format = 1\n[parallel]\nalgorithm = \"ring\"\ndata = \"ddp\"\n[mesh]\nshape = [2]\n"
        "[train]\nglobal_batch = 4\nsteps = 1\naccumulate = 1\n[optimizer]\nlr = 0.1\n"
        "[model]\nseed = 0\nkind = \"toy\"\n";
    CHECK(saved_text(file, SaveForm::brief, "", "") ==
          "format = 1\n\n[model]\nkind = \"toy\"\n\n[train]\nsteps = 1\nglobal_batch = 4\n\n"
          "[mesh]\nshape = [2]\n\n[parallel]\ndata = \"ddp\"\n");
}
