#include <cstdlib>
#include <filesystem>
#include <fstream>

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

Ended export_page(const std::string& out, const std::vector<std::string>& more = {},
                  const program::How& how = {}) {
    std::vector<std::string> words{"trace", "export", "html", recorded(), "-o", out};
    words.insert(words.end(), more.begin(), more.end());
    return program::run(words, how);
}

/// Takes the record out of a page, as its script does.
void take_record(const std::string& page, const std::string& path) {
    const std::string text = content(page);
    const std::size_t begin = text.find('>', text.find(" id=\"record\"")) + 1;
    std::ofstream(path + ".base64") << text.substr(begin, text.find('<', begin) - begin);
    REQUIRE(std::system(("base64 -d " + path + ".base64 | gunzip > " + path).c_str()) == 0);
}

std::string queried(const std::string& file, const std::string& sql) {
    return program::run({"trace", "query", file, sql, "--csv"}).out;
}

}  // namespace

TEST_CASE("a page of a run holds its record and the place that is shown first, and loads nothing") {
    REQUIRE(fs::exists(recorded()));
    const Folder folder;
    const std::vector<std::string> place{"--view", "memory", "--rank", "2", "--step", "3",
                                         "--at",   "17",     "--lang", "zh"};
    const Ended made = export_page(folder.file("a.html"), place);
    INFO(made.err);
    REQUIRE(made.exit_code == 0);
    CHECK(made.err.find("a.html") != std::string::npos);
    CHECK(folder.files() == 1);
    const std::string page = content(folder.file("a.html"));
    CHECK(page.find("data-name=\"hsdp.mscope\" data-place=\"view=memory&amp;rank=2&amp;at=17&amp;step=3&amp;"
                    "lang=zh\">") != std::string::npos);
    CHECK(page.find("default-src 'none'") != std::string::npos);
    CHECK(export_page("-", place).out == page);
    take_record(folder.file("a.html"), folder.file("b.mscope"));
    for (const char* sql : {"SELECT * FROM collectives ORDER BY rank, id", "SELECT * FROM hops",
                            "SELECT * FROM memory ORDER BY rank, ordinal", "SELECT * FROM steps"}) {
        INFO(sql);
        CHECK(queried(folder.file("b.mscope"), sql) == queried(recorded(), sql));
        CHECK(queried(recorded(), sql).size() > 100);
    }
}

TEST_CASE("the page's own script takes the record out and shows it where it was told to") {
    if (!has_program("node")) return;
    const Folder folder;
    REQUIRE(export_page(folder.file("a.html"), {"--view", "memory", "--at", "4.2µs", "--lang", "zh"}).exit_code == 0);
    take_record(folder.file("a.html"), folder.file("b.mscope"));
    const auto opened = [&](const std::string& link) {
        const std::string root = meshscope::test::source_root();
        const std::string check = "node " + root + "/tests/web/record_in_page.js " + folder.file("a.html") + " " +
                                  root + "/app/web/page.js " + folder.file("b.mscope") + " '" + link + "' > " +
                                  folder.file("said") + " 2>&1";
        static_cast<void>(std::system(check.c_str()));
        return content(folder.file("said"));
    };
    CHECK(opened("") ==
          "[\"--lang\",\"zh\",\"--view\",\"memory\",\"--at\",\"4.2µs\",\"/records/hsdp.mscope\"]\nfine\n");
    // The reader's link goes before the page's own place, and one to a lesson leads to that.
    CHECK(opened("#view=mesh&rank=1") ==
          "[\"--lang\",\"zh\",\"--view\",\"mesh\",\"--rank\",\"1\",\"--at\",\"4.2µs\",\"/records/"
          "hsdp.mscope\"]\nfine\n");
    CHECK(opened("#lesson=ring&step=2") == "[\"--step\",\"2\",\"ring\"]\nfine\n");
}

TEST_CASE("steps of a run make a page of their own, which says so") {
    const Folder folder;
    REQUIRE(export_page(folder.file("a.html"), {"--steps", "1:2"}).exit_code == 0);
    take_record(folder.file("a.html"), folder.file("b.mscope"));
    const std::string told = program::run({"trace", "info", folder.file("b.mscope")}).out;
    INFO(told);
    CHECK(told.find("step 1 of 3") != std::string::npos);
    CHECK(told.find("of which this record holds step 1 alone") != std::string::npos);
    const std::string sql = "SELECT op, unit, bytes, phase FROM collectives WHERE step = 1 ORDER BY rank, id";
    CHECK(queried(folder.file("b.mscope"), sql) == queried(recorded(), sql));
    CHECK(queried(folder.file("b.mscope"), "SELECT DISTINCT step FROM collectives") == "step\r\n1\r\n");
    for (const char* wrong : {"1", "2:1", "1-2"}) CHECK(export_page("-", {"--steps", wrong}).exit_code == 2);
    const Ended beyond = export_page("-", {"--steps", "2:9"});
    CHECK(beyond.exit_code == 65);
    CHECK(beyond.err.find("it holds 0:3") != std::string::npos);
}

TEST_CASE("what MESHSCOPE_PAGE names must be a page with a place for a record") {
    const Folder folder;
    program::How how;
    how.environment = {"MESHSCOPE_PAGE=" + folder.file("none.html")};
    const Ended wrong = export_page(folder.file("a.html"), {}, how);
    CHECK(wrong.exit_code == 65);
    CHECK(wrong.err.find("none.html") != std::string::npos);
    how.environment = {"MESHSCOPE_PAGE=" + meshscope::test::source_root() + "/README.md"};
    CHECK(export_page(folder.file("a.html"), {}, how).exit_code == 65);
    CHECK_FALSE(fs::exists(folder.path / "a.html"));
}

TEST_CASE("a word of a page's place is told here when it is wrong, not to who opens the page") {
    const Folder folder;
    using Words = std::vector<std::string>;
    for (const Words& wrong :
         {Words{"--view", "menory"}, {"--form", "rings"}, {"--rank", "4"}, {"--rank", "-1"}, {"--step", "0"},
          {"--at", "noon"}, {"--at", "99999"}, {"--clock", "real"}, {"--theme", "red"}, {"--scale", "9"},
          {"--size", "800x600"}, {"--fps", "9"}}) {
        INFO(wrong[0] << ' ' << wrong[1]);
        CHECK(export_page(folder.file("a.html"), wrong).exit_code == 2);
    }
    for (const Words& right : {Words{"--at", "12.5ms"}, {"--at", "3", "--rank", "3"}, {"--scale", "1.25"},
                               {"--view", "parameters"}, {"--form", "grid"}, {"--theme", "contrast"}}) {
        INFO(right[0] << ' ' << right[1]);
        CHECK(export_page("-", right).exit_code == 0);
    }
    CHECK(export_as("csv", folder.file("a.csv"), {"--steps", "0:1"}).exit_code == 2);
    CHECK(folder.files() == 0);
}

TEST_CASE("what an export cannot be is told before anything is read") {
    const Folder folder;
    CHECK(export_as("jpg", folder.file("a.jpg")).exit_code == 2);
    CHECK(export_as("svg", folder.file("a.png")).exit_code == 2);
    CHECK(export_as("png", "-").exit_code == 2);
    CHECK(export_as("perfetto", folder.file("a.json"), {"--view", "memory"}).exit_code == 2);
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
