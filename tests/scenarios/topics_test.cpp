// scenarios/README.md says which step teaches which topic.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/scenario/scenario.h"
#include "tests/test.h"
#include "tests/tree.h"

namespace fs = std::filesystem;
namespace scenario = meshscope::scenario;

namespace {

/// What the lessons must teach, topic by topic.
const std::vector<std::string> kTopics{"processes",
                                       "groups-by-hand",
                                       "groups-from-a-mesh",
                                       "row-major",
                                       "groups-of-a-dim",
                                       "new-or-split",
                                       "mesh-api",
                                       "slicing",
                                       "world-covers-mesh",
                                       "all-collectives",
                                       "reduce-ops",
                                       "worked-example",
                                       "all-reduce-in-two",
                                       "algorithms",
                                       "barrier",
                                       "backends-and-links",
                                       "sync-batchnorm",
                                       "distributed-sampler",
                                       "batch-sampler",
                                       "batch-sizes",
                                       "distributed-evaluation",
                                       "dp",
                                       "ddp",
                                       "eight-rows",
                                       "the-path",
                                       "launching",
                                       "checkpoint",
                                       "elastic",
                                       "horovod",
                                       "accelerate",
                                       "diloco",
                                       "mixed-precision-adam",
                                       "zero",
                                       "zero-traffic",
                                       "p-g-os",
                                       "activations",
                                       "fsdp-unit",
                                       "fsdp1",
                                       "fsdp2",
                                       "order",
                                       "overlap",
                                       "shard-grad-op",
                                       "hsdp",
                                       "fsdp-options",
                                       "tp",
                                       "sp",
                                       "tp-or-fsdp",
                                       "naive",
                                       "pp",
                                       "cp",
                                       "three-d",
                                       "config-file",
                                       "what-fits",
                                       "mfu",
                                       "published-layouts"};

/// The words in `code` of a line.
std::vector<std::string> codes(const std::string& line) {
    std::vector<std::string> found;
    for (std::size_t i = line.find('`'); i != std::string::npos; i = line.find('`', i + 1)) {
        const std::size_t close = line.find('`', i + 1);
        if (close == std::string::npos) break;
        found.push_back(line.substr(i + 1, close - i - 1));
        i = close;
    }
    return found;
}

/// topic → what stands in its last cell, from the tables of scenarios/README.md.
std::map<std::string, std::vector<std::string>> covered() {
    std::ifstream in(meshscope::test::source_root() + "/scenarios/README.md");
    REQUIRE(in);
    std::map<std::string, std::vector<std::string>> rows;
    bool here = false;
    for (std::string line; std::getline(in, line);) {
        if (line.starts_with("## ")) here = line == "## What covers what";
        if (!here || !line.starts_with("| `")) continue;
        const std::string last = line.substr(line.rfind('|', line.size() - 2));
        const std::string topic = codes(line).front();
        INFO(topic);
        CHECK(rows.emplace(topic, codes(last)).second);
    }
    return rows;
}

bool has_step(const fs::path& folder, const std::string& id) {
    const auto lesson = scenario::read_scenario((folder / "scenario.toml").string());
    return std::any_of(lesson.steps_of_lesson.begin(), lesson.steps_of_lesson.end(),
                       [&](const auto& step) { return step.id == id; });
}

}  // namespace

TEST_CASE("every topic has a row that names lessons, and there are no other rows") {
    const auto rows = covered();
    for (const std::string& topic : kTopics) {
        INFO(topic);
        REQUIRE(rows.count(topic) == 1);
        CHECK(!rows.at(topic).empty());
    }
    CHECK(rows.size() == kTopics.size());
}

TEST_CASE("each row names steps that exist") {
    for (const auto& [topic, places] : covered()) {
        for (const std::string& place : places) {
            INFO(topic << ": " << place);
            const std::size_t space = place.find(' ');
            REQUIRE(space != std::string::npos);
            const fs::path folder =
                fs::path(meshscope::test::source_root() + "/scenarios") / place.substr(0, space);
            REQUIRE(fs::exists(folder / "scenario.toml"));
            CHECK(has_step(folder, place.substr(space + 1)));
        }
    }
}

TEST_CASE("every lesson of the course teaches a topic, or why a run hangs, or which strategy to take") {
    std::set<std::string> named;
    for (const auto& [topic, places] : covered())
        for (const std::string& place : places) named.insert(place.substr(0, place.find(' ')));
    for (const auto& entry : fs::directory_iterator(meshscope::test::source_root() + "/scenarios")) {
        const std::string folder = entry.path().filename().string();
        if (!fs::exists(entry.path() / "scenario.toml") || folder[0] >= '8') continue;
        INFO(folder);
        CHECK(named.count(folder) == 1);
    }
}
