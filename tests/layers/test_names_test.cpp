// A test whose name CTest or Catch cuts is not run under its name: that is a failure there, far from its
// cause.
#include <filesystem>
#include <regex>

#include "tests/folder.h"
#include "tests/test.h"
#include "tests/tree.h"

namespace fs = std::filesystem;

namespace {

/// The names of the TEST_CASEs in a source that hold a sign at which CMake's lists or Catch's filters cut.
std::vector<std::string> names_that_are_cut(const std::string& source) {
    static const std::regex kCase("TEST_CASE\\(((?:\\s*\"[^\"\n]*\")+)");
    std::vector<std::string> cut;
    for (std::sregex_iterator it(source.begin(), source.end(), kCase), end; it != end; ++it)
        if ((*it)[1].str().find_first_of(";[]") != std::string::npos) cut.push_back((*it)[1]);
    return cut;
}

}  // namespace

TEST_CASE("no test's name has a sign that cuts it") {
    int sources = 0;
    for (const auto& entry :
         fs::recursive_directory_iterator(fs::path(meshscope::test::source_root()) / "tests")) {
        if (entry.path().extension() != ".cpp") continue;
        ++sources;
        for (const std::string& name : names_that_are_cut(meshscope::test::content(entry.path().string())))
            FAIL_CHECK(entry.path().string() << ": " << name);
    }
    CHECK(sources > 100);
    const std::string with_sign = std::string("TEST_CASE") + "(\n  \"one; \"\n \"two\") {";
    CHECK(names_that_are_cut(with_sign).size() == 1);
    CHECK(names_that_are_cut(std::string("TEST_CASE") + "(\"one, two\") {").empty());
}
