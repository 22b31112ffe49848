#include "core/base/replace_file.h"

#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "core/base/error.h"
#include "core/base/open_parts.h"
#include "tests/test.h"

using namespace meshscope;
namespace fs = std::filesystem;

namespace {

/// A folder of its own that goes away again.
struct Folder {
    fs::path path = fs::temp_directory_path() / ("meshscope-replace-" + std::to_string(getpid()));
    Folder() { fs::create_directories(path); }
    ~Folder() { fs::remove_all(path); }
    std::string file(const char* name) const { return (path / name).string(); }
    std::ptrdiff_t files() const {
        return std::distance(fs::directory_iterator(path), fs::directory_iterator());
    }
};

std::string content(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace

TEST_CASE("a replaced file holds the new bytes and nothing is left beside it") {
    const Folder folder;
    replace_file(folder.file("a"), "one");
    replace_file(folder.file("a"), std::string("t\0wo", 4));
    CHECK(content(folder.file("a")) == std::string("t\0wo", 4));
    CHECK(folder.files() == 1);
}

TEST_CASE("without a commit the old file stays and the part goes") {
    const Folder folder;
    replace_file(folder.file("a"), "old");
    {
        ReplaceFile file(folder.file("a"));
        file.write("half of the ne");
        CHECK(content(folder.file("a")) == "old");
        CHECK(folder.files() == 2);
    }
    CHECK(content(folder.file("a")) == "old");
    CHECK(folder.files() == 1);
}

TEST_CASE("who ends at once may remove what is being written, and nothing else") {
    const Folder folder;
    replace_file(folder.file("a"), "old");
    ReplaceFile whole(folder.file("b"));
    whole.write("new");
    whole.commit();
    const ReplaceFile half(folder.file("a")), other(folder.file("c"));
    replace_file(whole.part_path(), "another's, by the same name");
    CHECK(folder.files() == 5);
    remove_open_parts();
    CHECK_FALSE(fs::exists(half.part_path()));
    CHECK_FALSE(fs::exists(other.part_path()));
    CHECK(content(folder.file("a")) == "old");
    CHECK(content(folder.file("b")) == "new");
    CHECK(fs::exists(whole.part_path()));
}

TEST_CASE("a disk that takes no more leaves the old file and says why") {
    const Folder folder;
    replace_file(folder.file("a"), "old");
    const auto handler = std::signal(SIGXFSZ, SIG_IGN);
    rlimit before{};
    REQUIRE(getrlimit(RLIMIT_FSIZE, &before) == 0);
    rlimit small = before;
    small.rlim_cur = 1000;
    REQUIRE(setrlimit(RLIMIT_FSIZE, &small) == 0);
    std::string id;
    try {
        replace_file(folder.file("a"), std::string(5000, 'x'));
    } catch (const IoError& e) {
        id = e.message().id;
    }
    setrlimit(RLIMIT_FSIZE, &before);
    std::signal(SIGXFSZ, handler);
    CHECK(id == "file.too_large");
    CHECK(content(folder.file("a")) == "old");
    CHECK(folder.files() == 1);
}

TEST_CASE("a missing folder and a directory are refused") {
    const Folder folder;
    CHECK_THROWS_AS(replace_file(folder.file("none/a"), "x"), IoError);
    CHECK_THROWS_AS(replace_file(folder.path.string(), "x"), IoError);
}

TEST_CASE("a pipe is refused and stays a pipe, also behind a link") {
    const Folder folder;
    REQUIRE(mkfifo(folder.file("pipe").c_str(), 0600) == 0);
    fs::create_symlink("pipe", folder.file("link"));
    for (const char* name : {"pipe", "link"}) {
        INFO(name);
        std::string id;
        try {
            replace_file(folder.file(name), "x");
        } catch (const IoError& e) {
            id = e.message().id;
        }
        CHECK(id == "file.not_regular_output");
    }
    CHECK(fs::is_fifo(folder.file("pipe")));
    CHECK(fs::is_symlink(folder.file("link")));
    CHECK(folder.files() == 2);
}

TEST_CASE("through a link its target is written, and the link stays") {
    const Folder folder;
    fs::create_directory(folder.path / "far");
    fs::create_symlink("far/new", folder.file("link"));
    fs::create_symlink(folder.file("link"), folder.file("link_to_link"));
    replace_file(folder.file("link"), "one");  // the target does not exist yet
    CHECK(content(folder.file("far/new")) == "one");
    replace_file(folder.file("link_to_link"), "two");
    CHECK(content(folder.file("far/new")) == "two");
    CHECK(fs::is_symlink(folder.file("link")));
    CHECK(fs::is_symlink(folder.file("link_to_link")));

    fs::create_symlink("circle", folder.file("circle"));
    CHECK_THROWS_AS(replace_file(folder.file("circle"), "x"), IoError);
}
