// What the docs say of the tree.
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <string>

#include "core/comm/schedule/card.h"
#include "tests/test.h"
#include "tests/tree.h"

namespace fs = std::filesystem;

namespace {

std::string content(const fs::path& file) {
    std::ifstream in(file);
    return {std::istreambuf_iterator<char>(in), {}};
}

/// The paths between backquotes that begin with a folder of the root.
std::set<std::string> paths_in(const std::string& text) {
    static const std::regex path(
        "`((?:core|backends|app|tests|scenarios|docs|shaders|site)/[A-Za-z0-9_./-]*)`");
    std::set<std::string> found;
    for (std::sregex_iterator it(text.begin(), text.end(), path), end; it != end; ++it)
        found.insert((*it)[1]);
    return found;
}

}  // namespace

TEST_CASE("every file that docs/architecture.md names exists") {
    const fs::path root = meshscope::test::source_root();
    const auto paths = paths_in(content(root / "docs/architecture.md"));
    CHECK(paths.size() > 40);
    for (std::string path : paths) {
        // WORD and NN stand for a name: then the folder must be there.
        if (const auto word = std::min(path.find("WORD"), path.find("NN")); word != std::string::npos)
            path = path.substr(0, path.rfind('/', word));
        INFO(path);
        CHECK(fs::exists(root / path));
    }
}

TEST_CASE(
    "every algorithm of the list has its sentence in both languages and stands in both tables of the docs") {
    const fs::path root = meshscope::test::source_root();
    const std::string scenario = content(root / "docs/scenario.md");
    const std::size_t costs = scenario.find("| algorithm | op | steps | cost |"),
                      fallbacks = scenario.find("| named | all_reduce |");
    REQUIRE(costs < fallbacks);
    REQUIRE(fallbacks != std::string::npos);
    for (const auto& card : meshscope::comm::algorithm_cards()) {
        const std::string word(meshscope::name(card.algorithm));
        INFO(word);
        for (const char* language : {"en", "zh"})
            CHECK(content(root / ("app/i18n/parts/view." + std::string(language) + ".toml"))
                      .find("\"view.algorithm." + word + "\"") != std::string::npos);
        CHECK(scenario.find("\n| `" + word + "` |", costs) < fallbacks);
        CHECK(scenario.find("`" + word + "`", fallbacks) != std::string::npos);
    }
}
