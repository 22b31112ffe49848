#include <sys/stat.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "display.h"
#include "tests/folder.h"
#include "tests/patience.h"
#include "tests/test.h"
#include "tests/tree.h"

using namespace meshscope::test;
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

const std::string kApp = meshscope::test::bin_folder() + "/meshscope-app";

json ready(const DrivenApp& app) {
    return app.wait_for("the lesson is open",
                        [](const json& s) { return s["document"] == "63_hsdp" && !s["boxes"].empty(); });
}

/// The program's exit code without a display, and what it said.
std::pair<int, std::string> run_without_display(std::vector<std::string> words, const Folder& folder,
                                                const std::string& output = "") {
    words.insert(words.begin(), kApp);
    const std::string said = output.empty() ? folder.file("said") : output;
    const int code = Child(words, {"DISPLAY=", "WAYLAND_DISPLAY=", "LC_ALL=C"}, said).wait();
    return {code, output.empty() ? content(said) : ""};
}

}  // namespace

TEST_CASE("what the command line asks wrongly is told before anything runs, with 2") {
    const Folder folder;
    const std::string lesson = meshscope::test::source_root() + "/scenarios/63_hsdp";
    const auto step = run_without_display({"63", "--render", folder.file("a"), "--step", "99"}, folder);
    INFO(step.second);
    CHECK(step.first == 2);
    CHECK(step.second.find("--step cannot be 99; this lesson has the steps 1 to 11") != std::string::npos);
    CHECK_FALSE(fs::exists(folder.path / "a"));

    fs::copy(lesson, folder.path / "lesson");
    for (const char* file : {"lesson/scenario.toml", "lesson/lesson.en.md"}) {
        const std::string before = content(folder.file(file));
        const auto film = run_without_display(
            {folder.file("lesson"), "--render", folder.file("a"), "--mp4", folder.file(file)}, folder);
        INFO(film.second);
        CHECK(film.first == 2);
        CHECK(film.second.find("is no MP4 file that meshscope wrote, so it is not overwritten") !=
              std::string::npos);
        const auto dump =
            run_without_display({folder.file("lesson"), "--dump-state", folder.file(file)}, folder);
        CHECK(dump.first == 2);
        CHECK(content(folder.file(file)) == before);
    }
    REQUIRE(mkfifo(folder.file("pipe").c_str(), 0600) == 0);
    CHECK(run_without_display({"63", "--render", folder.file("a"), "--mp4", folder.file("pipe")}, folder)
              .first == 74);
    CHECK(fs::is_fifo(folder.path / "pipe"));
    CHECK(run_without_display({"--help"}, folder, "/dev/full").first == 74);
}

TEST_CASE("a real pointer: tabs, a rank, a slice, the timeline's ruler and wheel, play") {
    const Folder folder;
    const VirtualDisplay display(folder.path.string());
    DrivenApp app(display, folder.path.string(),
                  {"hsdp", "--lang", "en", "--size", "1280x720", "--view", "mesh"});
    json s = ready(app);

    app.click(place(s, "rank", 2));
    s = app.wait_for("rank 2 selected", [](const json& x) { return x["selection"]["rank"] == 2; });

    app.click(s["boxes"]["slice"]);
    app.wait_for("typing", [](const json& x) { return x["typing"] == true; });
    app.xdotool({"type", "--delay", "60", "shard"});
    app.xdotool({"keydown", "Return"});
    app.xdotool({"sleep", "0.2", "keyup", "Return"});
    s = app.wait_for("slice taken", [](const json& x) { return x["selection"]["slice"] == "shard"; });

    app.click(s["boxes"]["tab2"]);
    s = app.wait_for("timeline",
                     [](const json& x) { return x["view"] == "timeline" && !x["places"].empty(); });
    const double end = s["end_ns"].get<double>();
    // Scrub: press on the ruler at a third, drag to two thirds of the lanes.
    app.move(700, 108);
    app.xdotool({"mousedown", "1"});
    s = app.wait_for("cursor at the pointer", [](const json& x) { return x["cursor_ns"] > 0; });
    const double first = s["cursor_ns"].get<double>();
    app.move(850, 108);
    s = app.wait_for("cursor follows", [&](const json& x) { return x["cursor_ns"].get<double>() > first; });
    app.xdotool({"mouseup", "1"});
    CHECK(s["cursor_ns"].get<double>() < end);

    app.move(700, 350);
    app.xdotool({"click", "4"});
    app.wait_for("zoomed in", [&](const json& x) {
        return x["range"][1] > 0 && x["range"][1].get<double>() - x["range"][0].get<double>() < end;
    });

    s = app.state();
    app.click(s["boxes"]["play"]);
    const double at = s["cursor_ns"].get<double>();
    app.wait_for("plays",
                 [&](const json& x) { return x["playing"] == true && x["cursor_ns"].get<double>() > at; });
    app.click(s["boxes"]["play"]);
    app.wait_for("stands", [](const json& x) { return x["playing"] == false; });
    CHECK(app.running());
}

TEST_CASE("a real keyboard: language, views, hops, play, text size, key sheet, quick taps") {
    const Folder folder;
    const VirtualDisplay display(folder.path.string());
    DrivenApp app(display, folder.path.string(), {"hsdp", "--lang", "en", "--size", "1280x720"});
    ready(app);

    app.key("l");
    app.wait_for("Chinese", [](const json& s) { return s["language"] == "zh"; });
    app.key("l");
    app.wait_for("English", [](const json& s) { return s["language"] == "en"; });
    const char* views[] = {"mesh", "collective", "timeline", "memory", "tensors", "traffic"};
    for (int i = 5; i >= 0; --i) {
        app.key(std::to_string(i + 1));
        app.wait_for(views[i], [&](const json& s) { return s["view"] == views[i]; });
    }
    app.key("7");
    app.wait_for("compare", [](const json& s) { return s["view"] == "compare"; });
    app.key("8");
    app.wait_for("code", [](const json& s) { return s["view"] == "code"; });
    app.key("1");
    app.key("Home");
    app.wait_for("at the start", [](const json& s) { return s["cursor_ns"] == 0; });
    app.key("Right");
    const json hop =
        app.wait_for("one hop on", [](const json& s) { return s["cursor_ns"] > 0 && s["moving"] == false; });
    app.key("shift+Right");
    const json event = app.wait_for("one event on", [&](const json& s) {
        return s["cursor_ns"] > hop["cursor_ns"] && s["moving"] == false;
    });
    // Five taps without waiting: none may be lost.
    for (int i = 0; i < 5; ++i) app.key("Down");
    app.wait_for("five steps on", [](const json& s) { return s["lesson_step"] == 5; });
    app.key("space");
    app.wait_for("plays", [](const json& s) { return s["playing"] == true; });
    app.key("space");
    app.wait_for("stands", [](const json& s) { return s["playing"] == false; });
    app.key("ctrl+equal");
    app.wait_for("125 %", [](const json& s) { return s["scale"] == 1.25; });
    app.key("ctrl+0");
    app.wait_for("100 %", [](const json& s) { return s["scale"] == 1.0; });
    app.key("t");
    app.wait_for("light", [](const json& s) { return s["theme"] == "light"; });
    app.key("question");
    app.wait_for("key sheet", [](const json& s) { return s["key_sheet"] == true; });
    app.key("Escape");
    app.wait_for("no key sheet", [](const json& s) { return s["key_sheet"] == false; });
    CHECK(app.running());
}

TEST_CASE("the window can be resized, small and large, and goes on") {
    const Folder folder;
    const VirtualDisplay display(folder.path.string());
    DrivenApp app(display, folder.path.string(), {"hsdp", "--lang", "zh", "--size", "1280x720"});
    json s = ready(app);
    const double help_x = s["boxes"]["help"][0].get<double>();
    app.xdotool({"windowsize", "@", "1900", "1060"});
    s = app.wait_for("wide",
                     [&](const json& x) { return x["boxes"]["help"][0].get<double>() > help_x + 500; });
    CHECK(s["boxes"].contains("copy_facts"));
    app.xdotool({"windowsize", "@", "700", "500"});
    s = app.wait_for("narrow", [&](const json& x) { return x["boxes"]["help"][0].get<double>() < 700; });
    CHECK_FALSE(s["boxes"].contains("copy_facts"));
    app.key("F2");
    app.wait_for("drawer", [](const json& x) { return x["boxes"].contains("copy_facts"); });
    CHECK(app.running());
}

TEST_CASE("the welcome page opens a lesson by a click: a file that is none is told and the window stays") {
    const Folder folder;
    const VirtualDisplay display(folder.path.string());
    {
        DrivenApp app(display, folder.path.string(), {"--lang", "zh"});
        const json s =
            app.wait_for("lessons offered", [](const json& x) { return x["boxes"].contains("offer1"); });
        app.click(s["boxes"]["offer1"]);
        app.wait_for("the lesson is open", [](const json& x) { return x["document"] == "12_device_mesh"; });
    }
    DrivenApp app(display, folder.path.string(), {"no_such_lesson", "--lang", "en"});
    const json s = app.wait_for("an error", [](const json& x) { return x["error"].is_array(); });
    CHECK(s["error"][0].get<std::string>().find("no_such_lesson") != std::string::npos);
    app.key("Escape");
    app.wait_for("closed", [](const json& x) { return x["error"].is_null(); });
    CHECK(app.running());
}

namespace {

/// Scrolls the sandbox until a widget of it stands in the open, then clicks it.
void click_in_sandbox(const DrivenApp& app, const std::string& id, double below) {
    json s = app.state();
    for (int i = 0; i < 60; ++i) {
        const double y = s["boxes"][id][1].get<double>() + s["boxes"][id][3].get<double>() / 2;
        if (y > 70 && y < below) return app.click(s["boxes"][id]);
        app.move(200, 300);
        app.xdotool({"click", y < 70 ? "4" : "5"});
        app.xdotool({"sleep", "0.1"});
        s = app.state();
    }
    FAIL(id << " never came into sight");
}

}  // namespace

TEST_CASE(
    "a real pointer in the sandbox: a mistake is marked, undone, an edit is run, and its record opens") {
    const Folder folder;
    const VirtualDisplay display(folder.path.string());
    DrivenApp app(display, folder.path.string(),
                  {"hsdp", "--lang", "en", "--size", "1280x900", "--view", "mesh"});
    ready(app);
    app.key("e");
    json s = app.wait_for("the sandbox", [](const json& x) { return x["boxes"].contains("sandbox.at.run"); });
    const std::string before = s["sandbox"]["text"];

    app.click(s["boxes"]["sandbox.at.mesh.shape"]);
    app.wait_for("typing", [](const json& x) { return x["typing"] == true; });
    app.key("End");
    app.xdotool({"type", "--delay", "60", "2"});
    s = app.wait_for("a mistake, and no button to run it", [](const json& x) {
        return !x["sandbox"]["mistakes"].empty() && !x["boxes"].contains("sandbox.at.run");
    });
    CHECK(s["sandbox"]["mistakes"][0]["id"] == "scenario.batch_does_not_divide");
    app.click(s["boxes"]["sandbox.at.undo"]);
    s = app.wait_for("undone", [](const json& x) {
        return x["sandbox"]["mistakes"].empty() && x["boxes"].contains("sandbox.at.run");
    });
    CHECK(s["sandbox"]["text"] == before);

    const double foot = s["boxes"]["sandbox.at.run"][1].get<double>() - 20;
    click_in_sandbox(app, "sandbox.at.parallel.algorithm=direct", foot);
    app.wait_for("edited", [&](const json& x) { return x["sandbox"]["text"] != before; });
    app.key("ctrl+z");
    app.wait_for("taken back", [&](const json& x) { return x["sandbox"]["text"] == before; });
    app.key("ctrl+shift+z");
    s = app.wait_for("done again", [&](const json& x) { return x["sandbox"]["text"] != before; });
    app.click(s["boxes"]["sandbox.at.run"]);
    s = app.wait_for("its record is open", [](const json& x) { return x["runs"].size() == 2; });
    CHECK(s["document"] == "63_hsdp · algorithm");
    CHECK(s["front"] == 1);

    // Rank by rank: a call is let go, then the run is given up.
    app.click(s["boxes"]["sandbox.at.live"]);
    s = app.wait_for("ranks are held", [](const json& x) { return x["boxes"].contains("live.at.call.0"); });
    app.click(s["boxes"]["live.at.call.0"]);
    s = app.wait_for("rank 0 went on",
                     [](const json& x) { return x["live"]["acts"] > 0 && x["live"]["going"] == false; });
    app.click(s["boxes"]["live.at.stop"]);
    app.wait_for("given up", [](const json& x) { return x["live"].is_null(); });
    CHECK(app.running());
}

TEST_CASE("without a display the program says so in both languages and exits with 69") {
    const Folder folder;
    for (const auto& [language, words] :
         {std::pair<std::string, std::string>{"en", "no display"}, {"zh", "没有显示器"}}) {
        const std::string log = folder.path.string() + "/" + language;
        Child app({kApp, "--lang", language}, {"DISPLAY=", "WAYLAND_DISPLAY="}, log);
        CHECK(app.wait() == 69);
        const std::string said = output_of({"cat", log}, {}, folder.path.string());
        CHECK(said.find(words) != std::string::npos);
        CHECK(said.find("--render") != std::string::npos);
    }
}

TEST_CASE("what could be shown on no display is told before that there is none") {
    const Folder folder;
    std::ofstream(folder.file("bad.toml")) << "format = 1\n[model]\nkind = \"toys\"\n";
    const std::vector<std::pair<std::vector<std::string>, std::string>> cases{
        {{"nosuch"}, "nosuch"},
        {{folder.file("bad.toml")}, "model.kind"},
        {{"63", "nosuch"}, "nosuch"},
        {{"--lang", "xx"}, "xx"},
        {{"63", "--widht", "3"}, "--widht"}};
    for (const auto& [words, told] : cases) {
        std::vector<std::string> command{kApp};
        command.insert(command.end(), words.begin(), words.end());
        const std::string log = folder.file("log");
        Child app(command, {"DISPLAY=", "WAYLAND_DISPLAY="}, log);
        const int code = app.wait();
        const std::string said = content(log);
        INFO(words.front() << ": " << said);
        CHECK(code != 69);
        CHECK(code != 0);
        CHECK(said.find(told) != std::string::npos);
        CHECK(said.find("no display") == std::string::npos);
    }
}

TEST_CASE(
    "frames and films that a signal stops end with its code, say what stays, and leave no hidden part") {
    for (const auto& [signal, code] : {std::pair{SIGINT, 130}, std::pair{SIGTERM, 143}}) {
        const Folder folder;
        const std::string frames = folder.file("frames"), log = folder.file("log");
        Child app({kApp, "63", "--render", frames, "--frames", "100000", "--mp4", folder.file("film.mp4"),
                   "--lang", "en"},
                  {"DISPLAY=", "WAYLAND_DISPLAY="}, log);
        const auto from = std::chrono::steady_clock::now();
        while (!fs::exists(frames + "/frame_00002.png") && std::chrono::steady_clock::now() - from < kGuard)
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
        kill(app.pid(), signal);
        CHECK(app.wait() == code);
        const std::string said = content(log);
        INFO(said);
        CHECK(said.find(" of 100000 frames") != std::string::npos);
        CHECK(said.find(frames) != std::string::npos);
        // The frames and the log: no film, and no part of one.
        CHECK(std::distance(fs::directory_iterator(folder.path), fs::directory_iterator()) == 2);
    }
}

TEST_CASE("without OpenGL's library a film is refused with 69 and the package that brings it") {
    const Folder folder;
    output_of(
        {"sh", "-c", "mkdir '" + folder.file("lib") + "' && : > '" + folder.file("lib/libGL.so.1") + "'"}, {},
        folder.path.string());
    for (const auto& [language, words] :
         {std::pair<std::string, std::string>{"en", "libGL.so.1 is missing"}, {"zh", "缺少 libGL.so.1"}}) {
        const std::string log = folder.file(language);
        Child app({kApp, "63", "--render", folder.file("frames"), "--frames", "1", "--lang", language},
                  {"DISPLAY=", "WAYLAND_DISPLAY=", "LD_LIBRARY_PATH=" + folder.file("lib")}, log);
        INFO(content(log));
        CHECK(app.wait() == 69);
        const std::string said = content(log);
        CHECK(said.find(words) != std::string::npos);
        CHECK(said.find("libgl1") != std::string::npos);
    }
}

TEST_CASE("wrong arguments exit with 2, bad files with 65, and help with 0") {
    const Folder folder;
    const std::string log = folder.path.string() + "/log";
    CHECK(Child({kApp, "--colour"}, {}, log).wait() == 2);
    CHECK(Child({kApp, "--lang", "fr"}, {}, log).wait() == 2);
    CHECK(Child({kApp, "--help"}, {}, log).wait() == 0);
    CHECK(Child({kApp, "no_such_thing", "--render", folder.path.string() + "/frames"}, {}, log).wait() == 65);
    const std::string scenario = folder.path.string() + "/broken.toml";
    output_of({"sh", "-c", "echo 'steps = = 3' > " + scenario}, {}, folder.path.string());
    CHECK(Child({kApp, scenario, "--render", folder.path.string() + "/frames"}, {}, log).wait() == 65);
    CHECK(output_of({"cat", log}, {}, folder.path.string()).find("broken.toml:1:") != std::string::npos);
}
