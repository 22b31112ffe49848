#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "backends/registry.h"
#include "core/base/diagnosis.h"
#include "core/run/run.h"
#include "core/scenario/scenario.h"
#include "tests/run/golden_case.h"
#include "tests/test.h"
#include "tests/tree.h"

using namespace meshscope;

namespace {

/// The lessons' scenario files, ascending.
std::vector<std::string> lessons() {
    std::vector<std::string> paths;
    for (const auto& entry : std::filesystem::directory_iterator(test::source_root() + "/scenarios")) {
        const std::filesystem::path file = entry.path() / "scenario.toml";
        if (std::filesystem::exists(file)) paths.push_back(file.string());
    }
    std::sort(paths.begin(), paths.end());
    return paths;
}

/// Every case that PyTorch ran: all strategies, on up to eight ranks.
std::vector<std::string> golden_cases() {
    std::vector<std::string> cases = golden::names();
    cases.insert(cases.end(), golden::unordered_names().begin(), golden::unordered_names().end());
    return cases;
}

/// Runs a scenario checked; says what it was accused of.
std::string accusation(const scenario::Scenario& scenario, const run::Backends& backends) {
    if (!scenario.faults.empty()) return "";  // what goes wrong there is meant to
    run::RunOptions options;
    options.checked = true;
    options.level = trace::Level::off;
    try {
        run::run_scenario(scenario, backends, options);
    } catch (const CommError& error) {
        return error.what();
    }
    return "";
}

}  // namespace

TEST_CASE("no lesson is accused of a mistake when its calls are checked") {
    const auto backends = backends::make_registry();
    const std::vector<std::string> paths = lessons();
    CHECK(paths.size() >= 2);
    for (const std::string& path : paths) {
        INFO(path);
        CHECK(accusation(scenario::read_scenario(path), *backends).empty());
    }
    std::printf("%zu lessons ran checked, none was accused\n", paths.size());
}

TEST_CASE("no golden case is accused of a mistake when its calls are checked") {
    const auto backends = backends::make_registry();
    const std::vector<std::string> names = golden_cases();
    CHECK(names.size() >= 30);
    for (const std::string& name : names) {
        INFO(name);
        const std::string text = golden::scenario_text(golden::read_case(name), name);
        CHECK(accusation(scenario::parse_scenario(text, name + ".toml"), *backends).empty());
    }
    std::printf("%zu golden cases ran checked, none was accused\n", names.size());
}
