#include <cstdlib>
#include <filesystem>

#include "program.h"
#include "tests/test.h"
#include "tests/tree.h"

namespace fs = std::filesystem;
using program::content;
using program::Ended;
using program::Folder;

namespace {

/// A recorded run; once a process.
const std::string& recorded() {
    static const Folder folder;
    static const std::string path = [] {
        const std::string file = folder.file("hsdp.mscope");
        program::run({"run", meshscope::test::source_root() + "/scenarios/63_hsdp/scenario.toml", "--trace",
                      file, "--quiet"});
        return file;
    }();
    return path;
}

bool has_program(const std::string& name) {
    return std::system(("command -v " + name + " > /dev/null 2>&1").c_str()) == 0;
}

Ended export_as(const std::string& format, const std::string& out, std::vector<std::string> more = {}) {
    std::vector<std::string> words{"trace", "export", format, recorded(), "-o", out};
    words.insert(words.end(), more.begin(), more.end());
    return program::run(words);
}

}  // namespace

TEST_CASE("a page of a run opens by itself: its script draws mesh, timeline and reasons from the record") {
    REQUIRE(fs::exists(recorded()));
    const Folder folder;
    const Ended made = export_as("html", folder.file("a.html"));
    INFO(made.err);
    REQUIRE(made.exit_code == 0);
    CHECK(made.err.find("wrote ") != std::string::npos);
    CHECK(folder.files() == 1);
    const Ended piped = export_as("html", "-");
    CHECK(piped.exit_code == 0);
    CHECK(piped.out == content(folder.file("a.html")));
    if (!has_program("node")) return;  // the page's script is JavaScript
    const std::string check = "node " + meshscope::test::source_root() + "/tests/html/page_check.js " +
                              folder.file("a.html") + " > " + folder.file("said") + " 2>&1";
    const int status = std::system(check.c_str());
    INFO(content(folder.file("said")));
    CHECK(status == 0);
    CHECK(content(folder.file("said")) == "fine\n");
}

TEST_CASE("what an export cannot be is told before anything is read") {
    const Folder folder;
    CHECK(export_as("jpg", folder.file("a.jpg")).exit_code == 2);
    CHECK(export_as("svg", folder.file("a.png")).exit_code == 2);
    CHECK(export_as("png", "-").exit_code == 2);
    CHECK(export_as("html", folder.file("a.html"), {"--view", "memory"}).exit_code == 2);
    CHECK(export_as("html", folder.file("a.html"), {"--what", "hops"}).exit_code == 2);
    CHECK(export_as("html", recorded()).exit_code == 2);
    CHECK(folder.files() == 0);
}

#ifdef MESHSCOPE_WITH_WINDOW
TEST_CASE("pictures are drawn by the window's program without a display") {
    const Folder folder;
    const Ended svg =
        export_as("svg", folder.file("a.svg"), {"--view", "memory", "--rank", "2", "--lang", "zh"});
    INFO(svg.err);
    REQUIRE(svg.exit_code == 0);
    CHECK(content(folder.file("a.svg")).find("峰值") != std::string::npos);
    const Ended png = export_as("png", folder.file("a.png"), {"--view", "timeline", "--size", "800x600"});
    INFO(png.err);
    REQUIRE(png.exit_code == 0);
    CHECK(content(folder.file("a.png")).substr(1, 3) == "PNG");
    if (has_program("ffmpeg")) {
        CHECK(export_as("gif", folder.file("a.gif"), {"--frames", "3", "--size", "640x480"}).exit_code == 0);
        CHECK(content(folder.file("a.gif")).substr(0, 6) == "GIF89a");
    }
    program::How no_path;
    no_path.environment = {"PATH="};
    const Ended nowhere =
        program::run({"trace", "export", "mp4", recorded(), "-o", folder.file("a.mp4")}, no_path);
    CHECK(nowhere.exit_code == 69);
    CHECK(nowhere.err.find("ffmpeg") != std::string::npos);
    CHECK_FALSE(fs::exists(folder.path / "a.mp4"));
    CHECK(export_as("svg", folder.file("b.svg"), {"--rank", "99"}).exit_code == 2);
    CHECK(export_as("svg", folder.file("b.svg"), {"--at", "1h"}).exit_code == 2);
    CHECK_FALSE(fs::exists(folder.path / "b.svg"));
}

TEST_CASE("a film that is interrupted ends with 130 and leaves nothing") {
    const Folder folder;
    if (!has_program("ffmpeg")) return;
    program::How soon;
    soon.interrupt_after_ms = 2500;
    const Ended stopped = program::run({"trace", "export", "mp4", recorded(), "-o", folder.file("a.mp4"),
                                        "--frames", "5000", "--view", "collective"},
                                       soon);
    INFO(stopped.err);
    CHECK(stopped.exit_code == 130);
    CHECK(folder.files() == 0);
}
#endif
