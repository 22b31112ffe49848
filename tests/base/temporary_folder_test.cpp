// Folders for temporary use, and what killed processes leave of them.
#include "core/base/temporary_folder.h"

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <filesystem>

#include "tests/folder.h"
#include "tests/test.h"

using meshscope::kTemporaryMarker;
using meshscope::TemporaryFolder;
using meshscope::test::Folder;
namespace fs = std::filesystem;

namespace {

/// The path of a folder whose process was killed while it held it.
std::string left_by_a_killed_process(const std::string& place) {
    std::array<int, 2> ends{};
    REQUIRE(pipe(ends.data()) == 0);
    const pid_t child = fork();
    if (child == 0) {
        const TemporaryFolder folder("work", place);
        std::ofstream(folder.file("numbers")) << "1 2 3";
        if (write(ends[1], folder.path().data(), folder.path().size()) < 0) _exit(1);
        close(ends[1]);
        pause();
    }
    close(ends[1]);
    std::string path(4096, '\0');
    const ssize_t n = read(ends[0], path.data(), path.size());
    close(ends[0]);
    path.resize(static_cast<std::size_t>(n));
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    return path;
}

}  // namespace

TEST_CASE("a temporary folder goes with its object, and what lies in it") {
    const Folder place;
    {
        const TemporaryFolder folder("work", place.path);
        CHECK(fs::path(folder.path()).parent_path() == place.path);
        std::ofstream(folder.file("numbers")) << "1 2 3";
        CHECK(place.files() == 1);
    }
    CHECK(place.files() == 0);
}

TEST_CASE("what a killed process left is removed by the next one that makes such a folder") {
    const Folder place;
    const std::string left = left_by_a_killed_process(place.path);
    REQUIRE(fs::exists(left + "/numbers"));
    { const TemporaryFolder other("play", place.path); }
    CHECK(fs::exists(left + "/numbers"));  // it removes what has its own name
    const TemporaryFolder next("work", place.path);
    CHECK_FALSE(fs::exists(left));
    CHECK(fs::exists(next.path()));
}

TEST_CASE("a temporary folder that is in use is left alone, and so is what nobody of ours made") {
    const Folder place;
    const TemporaryFolder used("work", place.path);
    // A user's own folder of such a name; one with a marker that is no file; a link to one that was left.
    place.write("work.abcdef/thesis.tex", "all of it");
    fs::create_directories(place.path / "work.ghijkl" / kTemporaryMarker);
    const Folder elsewhere;
    elsewhere.write(std::string("there/") + kTemporaryMarker, "");
    fs::create_directory_symlink(elsewhere.path / "there", place.path / "work.mnopqr");
    { const TemporaryFolder next("work", place.path); }
    CHECK(fs::exists(used.path()));
    CHECK(fs::exists(place.path / "work.abcdef" / "thesis.tex"));
    CHECK(fs::exists(place.path / "work.ghijkl"));
    CHECK(fs::exists(elsewhere.path / "there" / kTemporaryMarker));
}
