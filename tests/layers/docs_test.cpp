// What the docs say of the tree.
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <string>

#include "tests/test.h"
#include "tests/tree.h"

namespace fs = std::filesystem;

namespace {

/// The paths between backquotes that begin with a folder of the root; "views/WORD.cpp" stands for any.
std::set<std::string> paths_in(const fs::path& file) {
    std::ifstream in(file);
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    static const std::regex path("`((?:core|backends|app|tests|scenarios|docs)/[A-Za-z0-9_./-]*)`");
    std::set<std::string> found;
    for (std::sregex_iterator it(text.begin(), text.end(), path), end; it != end; ++it)
        found.insert((*it)[1]);
    return found;
}

}  // namespace

TEST_CASE("every file that docs/architecture.md names exists") {
    const fs::path root = meshscope::test::source_root();
    const auto paths = paths_in(root / "docs" / "architecture.md");
    CHECK(paths.size() > 40);
    for (std::string path : paths) {
        // WORD and NN stand for a name: then the folder must be there.
        if (const auto word = std::min(path.find("WORD"), path.find("NN")); word != std::string::npos)
            path = path.substr(0, path.rfind('/', word));
        INFO(path);
        CHECK(fs::exists(root / path));
    }
}
