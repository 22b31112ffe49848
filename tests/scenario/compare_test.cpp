// [compare]: the files that the window runs beside a scenario.
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

TEST_CASE("[compare] names one to three files beside the scenario, by paths relative to it") {
    const Folder folder;
    for (const char* name : {"b.toml", "sub/c.toml", "d.toml"}) folder.write(name, "not looked into yet");
    const auto s = scenario::read_scenario(
        folder.write("a.toml", kBody + "scenarios = [\"b.toml\", \"sub/../sub/c.toml\"]\n"));
    CHECK(s.compare == std::vector<std::string>{folder.file("b.toml"), folder.file("sub/c.toml")});
    CHECK(scenario::parse_scenario(kBody.substr(0, kBody.find("[compare]")), "x.toml").compare.empty());
}

TEST_CASE("mistakes of [compare] stand at the name that is wrong") {
    const Folder folder;
    for (const char* name : {"b.toml", "c.toml", "d.toml", "e.toml"}) folder.write(name, "");
    using Found = std::vector<std::string>;
    CHECK(mistakes(folder, "") == Found{"7:1 scenario.missing_key"});
    CHECK(mistakes(folder, "scenarios = []\n") == Found{"8:13 scenario.compare_count"});
    CHECK(mistakes(folder, "scenarios = [\"b.toml\", \"c.toml\", \"d.toml\", \"e.toml\"]\n") ==
          Found{"8:13 scenario.compare_count"});
    CHECK(mistakes(folder, "scenarios = [\"b.toml\", \"none.toml\"]\n") ==
          Found{"8:24 scenario.no_such_file"});
    CHECK(mistakes(folder, "scenarios = [\"b.toml\", \"./b.toml\"]\n") ==
          Found{"8:24 scenario.compare_twice"});
    CHECK(mistakes(folder, "scenarios = [\"a.toml\"]\n") == Found{"8:14 scenario.compare_itself"});
    CHECK(mistakes(folder, "scenarios = [\"\"]\n") == Found{"8:14 scenario.empty_path"});
    CHECK(mistakes(folder, "scenarios = \"b.toml\"\n") == Found{"8:13 scenario.wrong_type"});
    CHECK(mistakes(folder, "scenarios = [\"b.toml\"]\nwith = 1\n") == Found{"9:1 scenario.unknown_key"});
}
