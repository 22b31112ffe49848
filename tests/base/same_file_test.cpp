#include "core/base/same_file.h"

#include <filesystem>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "tests/folder.h"
#include "tests/test.h"

using namespace meshscope;
namespace fs = std::filesystem;

TEST_CASE("one file is the same under every name it has") {
    const test::Folder folder;
    const std::string a = folder.write("a", "x"), b = folder.write("b", "x");
    fs::create_symlink("a", folder.file("link"));
    fs::create_hard_link(a, folder.file("hard"));
    fs::create_directory(folder.path / "sub");
    for (const char* name : {"a", "./a", "sub/../a", "link", "hard"}) {
        INFO(name);
        CHECK(is_same_file(folder.file(name), a));
    }
    CHECK_FALSE(is_same_file(a, b));
    CHECK_FALSE(is_same_file(a, folder.file("none")));
    CHECK(is_same_file(folder.file("none"), folder.file("sub/../none")));
    CHECK(is_same_file("none-such", "./none-such"));
    CHECK_FALSE(is_same_file(folder.file("none"), folder.file("other")));
}

TEST_CASE("an output that is an input is refused with both names") {
    const test::Folder folder;
    const std::vector<std::string> inputs{folder.write("a", "x"), "", folder.write("b", "x")};
    fs::create_symlink("b", folder.file("link"));
    CHECK_NOTHROW(refuse_to_overwrite(folder.file("new"), inputs));
    CHECK_NOTHROW(refuse_to_overwrite("-", inputs));
    CHECK_NOTHROW(refuse_to_overwrite("", inputs));
    try {
        refuse_to_overwrite(folder.file("link"), inputs);
        FAIL("it was let through");
    } catch (const InvalidArgument& error) {
        CHECK(describe(error.message()) ==
              "file.output_is_input(output=" + folder.file("link") + ", input=" + inputs[2] + ")");
    }
}
