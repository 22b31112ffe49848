// [compare]: the files that the window runs beside a scenario.
#include "core/scenario/compare.h"
#include "core/base/error.h"
#include "core/scenario/scenario.h"
#include "tests/folder.h"
#include "tests/test.h"

using namespace meshscope;
using test::Folder;

namespace {

const std::string kBody =
    "format = 1\n[model]\nkind = \"toy\"\n[train]\nsteps = 1\nglobal_batch = 1\n[compare]\n";

/// "line:column id" of every mistake.
std::vector<std::string> mistakes(const Folder& folder, const std::string& compare) {
    std::vector<std::string> found;
    try {
        scenario::read_scenario(folder.write("a.toml", kBody + compare));
    } catch (const InputError& error) {
        for (const Diagnostic& d : error.diagnostics())
            found.push_back(std::to_string(d.position.line) + ":" + std::to_string(d.position.column) + " " +
                            d.message.id);
    }
    return found;
}

}  // namespace

TEST_CASE("compare names one to three files beside the scenario, by paths relative to it") {
    const Folder folder;
    for (const char* name : {"b.toml", "sub/c.toml", "d.toml"}) folder.write(name, "not looked into yet");
    const auto s = scenario::read_scenario(
        folder.write("a.toml", kBody + "scenarios = [\"b.toml\", \"sub/../sub/c.toml\"]\n"));
    using Compared = scenario::Scenario::Compared;
    CHECK(s.compare == std::vector<Compared>{{folder.file("b.toml"), ""}, {folder.file("sub/c.toml"), ""}});
    const auto both = scenario::read_scenario(
        folder.write("a.toml", kBody + "strategies = [\"ddp\", \"hsdp\"]\nscenarios = [\"d.toml\"]\n"));
    CHECK(both.compare == std::vector<Compared>{{"", "ddp"}, {"", "hsdp"}, {folder.file("d.toml"), ""}});
    CHECK(scenario::parse_scenario(kBody.substr(0, kBody.find("[compare]")), "x.toml").compare.empty());
}

TEST_CASE("mistakes of compare stand at the name that is wrong") {
    const Folder folder;
    for (const char* name : {"b.toml", "c.toml", "d.toml", "e.toml"}) folder.write(name, "");
    using Found = std::vector<std::string>;
    CHECK(mistakes(folder, "") == Found{"7:1 scenario.missing_key"});
    CHECK(mistakes(folder, "scenarios = []\n") == Found{"8:13 scenario.compare_count"});
    CHECK(mistakes(folder, "scenarios = [\"b.toml\", \"c.toml\", \"d.toml\", \"e.toml\"]\n") ==
          Found{"8:13 scenario.compare_count"});
    CHECK(mistakes(folder, "scenarios = [\"b.toml\", \"none.toml\"]\n") ==
          Found{"8:24 scenario.no_such_file"});
    CHECK(mistakes(folder, "scenarios = [\"b.toml\", \".\"]\n") == Found{"8:24 scenario.folder_for_file"});
    CHECK(mistakes(folder, "scenarios = [\"/dev/null\"]\n") == Found{"8:14 file.not_regular_input"});
    CHECK(mistakes(folder, "scenarios = [\"b.toml\", \"./b.toml\"]\n") ==
          Found{"8:24 scenario.compare_twice"});
    CHECK(mistakes(folder, "scenarios = [\"a.toml\"]\n") == Found{"8:14 scenario.compare_itself"});
    CHECK(mistakes(folder, "scenarios = [\"\"]\n") == Found{"8:14 scenario.empty_path"});
    CHECK(mistakes(folder, "scenarios = \"b.toml\"\n") == Found{"8:13 scenario.wrong_type"});
    CHECK(mistakes(folder, "strategies = [\"ddp\", \"ddp\"]\n") ==
          Found{"8:22 scenario.compare_strategy_twice"});
    CHECK(mistakes(folder, "strategies = [\"fsdp\", \"none\"]\n") ==
          Found{"8:15 scenario.unknown_word", "8:23 scenario.unknown_word"});
    CHECK(mistakes(folder, "strategies = [\"ddp\", \"hsdp\", \"zero1\"]\nscenarios = [\"b.toml\"]\n") ==
          Found{"8:14 scenario.compare_count"});
    CHECK(mistakes(folder, "scenarios = [\"b.toml\"]\nwith = 1\n") == Found{"9:1 scenario.unknown_key"});
}

namespace {

const std::string kModel =
    "format = 1\n[model]\nkind = \"toy\"\nseed = 1\n[train]\nsteps = 2\nglobal_batch = 8\n[optimizer]\n"
    "kind = \"adam\"\nlr = 0.01\n";

scenario::Scenario parsed(const std::string& mesh, const std::string& parallel,
                          const std::string& more = "") {
    return scenario::parse_scenario(kModel + "[mesh]\n" + mesh + "[parallel]\n" + parallel + more, "s.toml");
}

std::string refused(const scenario::Scenario& s, std::string_view strategy) {
    try {
        scenario::with_strategy(s, strategy);
    } catch (const InvalidArgument& error) {
        return error.message().id;
    }
    return "";
}

}  // namespace

TEST_CASE("the same scenario under each strategy keeps model, data, ranks and machines") {
    const auto s = parsed("shape = [2, 4]\nnames = [\"replicate\", \"shard\"]\n",
                          "data = \"fsdp2\"\nunits = [[\"net1\"], [\"net2\"]]\nalgorithm = \"direct\"\n"
                          "reshard_after_forward = false\n",
                          "[[check]]\nid = \"c\"\nsql = \"SELECT 1\"\n[compare]\nstrategies = [\"ddp\"]\n");
    for (const std::string_view strategy : scenario::compared_strategies()) {
        INFO(strategy);
        const auto other = scenario::with_strategy(s, strategy);
        CHECK(scenario::world_size(other) == 8);
        CHECK(scenario::data_parallel_size(other) == 8);
        CHECK(other.model.kind == "toy");
        CHECK(other.model_seed == s.model_seed);
        CHECK(other.optimizer.kind == "adam");
        CHECK(other.global_batch == 8);
        CHECK(other.parallel.algorithm == Algorithm::direct);
        CHECK(other.checks.empty());
        CHECK(other.compare.empty());
        // Two machines of four ranks, as the rows of the first mesh were.
        CHECK(other.node_of_rank == std::vector<int32_t>{0, 0, 0, 0, 1, 1, 1, 1});
        const bool two = strategy == "hsdp";
        CHECK(other.mesh_shape == (two ? mesh::Shape{2, 4} : mesh::Shape{8}));
        CHECK(other.mesh_names.back() == (strategy == "ddp" ? "replicate" : "shard"));
        const bool units = two || strategy == "fsdp2" || strategy == "fsdp1" || strategy == "zero3";
        CHECK(other.parallel.units.size() == (units ? 2 : 0));
    }
    CHECK(scenario::with_strategy(s, "zero2").parallel.data == scenario::DataStrategy::zero2);
    const auto others = scenario::other_strategies(s);
    CHECK(others == std::vector<std::string>{"ddp", "fsdp2", "fsdp1", "zero1", "zero2", "zero3"});
}

TEST_CASE("hsdp of a flat mesh: a machine's ranks shard, or half of them where there is one machine") {
    const std::string flat = "shape = [8]\nnames = [\"replicate\"]\n", ddp = "data = \"ddp\"\n";
    CHECK(scenario::with_strategy(parsed(flat, ddp), "hsdp").mesh_shape == mesh::Shape{2, 4});
    CHECK(scenario::with_strategy(parsed(flat, ddp, "[hardware]\nranks_per_node = 2\n"), "hsdp").mesh_shape ==
          mesh::Shape{4, 2});
    CHECK(scenario::with_strategy(parsed(flat, ddp, "[hardware]\nranks_per_node = 3\n"), "hsdp").mesh_shape ==
          mesh::Shape{2, 4});
}

TEST_CASE("strategies that a scenario cannot be changed to are refused with the reason") {
    const auto tp = parsed("shape = [2, 2]\nnames = [\"shard\", \"tp\"]\n", "data = \"fsdp2\"\n");
    CHECK(refused(tp, "ddp") == "scenario.strategy_needs_data_mesh");
    CHECK(scenario::other_strategies(tp).empty());
    const auto one = parsed("shape = [1]\nnames = [\"replicate\"]\n", "data = \"ddp\"\n");
    CHECK(refused(one, "fsdp2") == "scenario.strategy_needs_data_mesh");
    const auto two = parsed("shape = [2]\nnames = [\"replicate\"]\n", "data = \"ddp\"\n");
    CHECK(refused(two, "hsdp") == "scenario.strategy_needs_even_ranks");
    CHECK(refused(two, "dp") == "scenario.unknown_word");
    CHECK(refused(two, "fsdp2").empty());
}
