#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "display.h"
#include "tests/folder.h"
#include "tests/test.h"
#include "tests/tree.h"

/// What takes the window away, or what it works with: nothing is lost, and what happened is said.

using namespace meshscope::test;
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

const std::string kApp = meshscope::test::bin_folder() + "/meshscope-app";

json opened(const DrivenApp& app, const std::string& name) {
    return app.wait_for(name + " is open",
                        [&](const json& s) { return s["document"] == name && !s["boxes"].empty(); });
}

std::string said(const json& state) {
    std::string text;
    if (state["error"].is_array())
        for (const auto& line : state["error"]) text += line.get<std::string>() + "\n";
    return text;
}

/// Exports over a file that is there: the sheet asks once more, by another button.
void replace(const DrivenApp& app) {
    const json sheet =
        app.wait_for("the sheet", [](const json& x) { return x["boxes"].contains("export_go"); });
    app.click("export_go");
    app.wait_for("asked once more", [&](const json& x) {
        return x["boxes"].contains("export_go") && x["boxes"]["export_go"] != sheet["boxes"]["export_go"];
    });
    app.click("export_go");
}

/// A scenario of two steps.
std::string small_scenario(const Folder& folder) {
    return folder.write(
        "long.toml",
        "format = 1\n# my own words\n[model]\nkind = \"toy\"\n[train]\nsteps = 2\nglobal_batch = 8\n"
        "[mesh]\nshape = [4]\n[parallel]\ndata = \"ddp\"\n");
}

/// It is open, in the sandbox its steps were made many, and they run or are held.
void run_long(const DrivenApp& app, bool held) {
    opened(app, "long");
    app.key("e");
    const json s =
        app.wait_for("the sandbox", [](const json& x) { return x["boxes"].contains("sandbox.at.run"); });
    app.scroll_and_click("sandbox.at.train.steps", 70, s["boxes"]["sandbox.at.run"][1].get<double>() - 20);
    app.fill("sandbox.at.train.steps", "120000");
    app.wait_for("many steps", [](const json& x) {
        return x["sandbox"]["text"].get<std::string>().find("steps = 120000") != std::string::npos;
    });
    app.click(held ? "sandbox.at.live" : "sandbox.at.run");
    app.wait_for("under way", [&](const json& x) {
        return held ? x["boxes"].contains("live.at.call.0") : x["running"] == true;
    });
}

/// The scenario that was kept when the window closed is told, opens from the welcome page, and is told once.
void check_kept(const VirtualDisplay& display, const Folder& folder) {
    const std::string kept = folder.file("config/meshscope/unfinished/long-steps.toml");
    INFO(content(folder.file("config/meshscope/settings.json")));
    CHECK(content(kept).find("steps = 120000") != std::string::npos);
    CHECK(content(kept).find("# my own words") != std::string::npos);
    {
        DrivenApp app(display, folder.path.string(), {"--lang", "en", "--size", "1280x900"});
        json s = app.wait_for("it is told", [](const json& x) { return x["error"].is_array(); });
        CHECK(said(s).find(kept) != std::string::npos);
        CHECK(said(s).find("was running when the window closed") != std::string::npos);
        app.key("Escape");
        s = app.wait_for(
            "read", [](const json& x) { return x["error"].is_null() && x["boxes"].contains("recent0"); });
        app.click("recent0");
        app.wait_for("it is run again", [](const json& x) { return x["loading"] == true; });
        app.key("Escape");
        app.wait_for("it is given up", [](const json& x) { return x["loading"] == false; });
        CHECK(app.close() == 0);
    }
    // Told is told: the settings' file has lost it while the window ran.
    json settings = json::parse(content(folder.file("config/meshscope/settings.json")), nullptr, false);
    REQUIRE(settings.is_object());
    CHECK_FALSE(settings.contains("unfinished"));
}

}  // namespace

TEST_CASE("a window that is closed or ended during a run keeps its scenario and tells it next time") {
    const Folder folder;
    const VirtualDisplay display(folder.path.string());
    const std::string scenario = small_scenario(folder);
    enum class How { closed, held_and_closed, ended };
    for (const How how : {How::closed, How::held_and_closed, How::ended}) {
        INFO(static_cast<int>(how));
        DrivenApp app(display, folder.path.string(), {scenario, "--lang", "en", "--size", "1280x900"});
        run_long(app, how == How::held_and_closed);
        CHECK((how == How::ended ? app.end(SIGTERM) : app.close()) == 0);
        check_kept(display, folder);
        fs::remove_all(folder.path / "config/meshscope/unfinished");
    }
    CHECK(content(scenario).find("steps = 2\n") != std::string::npos);
}

TEST_CASE("an edited scenario that was not saved, and an export under way, are told at the next start") {
    const Folder folder;
    const VirtualDisplay display(folder.path.string());
    folder.write("film.mp4", "mine");
    {
        DrivenApp app(display, folder.path.string(),
                      {small_scenario(folder), "--lang", "en", "--size", "1280x900"});
        opened(app, "long");
        app.key("e");
        app.fill("sandbox.at.mesh.shape", "2");
        app.wait_for("edited", [](const json& x) {
            return x["sandbox"]["text"].get<std::string>().find("shape = [2]") != std::string::npos;
        });
        app.key("Escape");
        app.wait_for("no field", [](const json& x) { return x["typing"] == false; });
        app.key("ctrl+e");
        app.fill("export_path", folder.file("film.mp4"));
        replace(app);
        app.wait_for("a film is made", [](const json& x) { return x["exporting"].is_string(); });
        CHECK(app.close() == 0);
    }
    CHECK(content(folder.file("film.mp4")) == "mine");
    for (const auto& entry : fs::directory_iterator(folder.path))
        CHECK(entry.path().filename().string().find(".part") == std::string::npos);
    // Told also where a file is opened at once.
    const DrivenApp app(display, folder.path.string(), {"hsdp", "--lang", "en"});
    opened(app, "63_hsdp");
    const json s = app.wait_for("it is told", [](const json& x) { return x["error"].is_array(); });
    INFO(said(s));
    json kept = json::parse(content(folder.file("config/meshscope/settings.json")), nullptr, false);
    REQUIRE(kept.is_object());
    CHECK(kept["recent"].dump().find("unfinished/long-shape.toml") != std::string::npos);
    CHECK(said(s).find(folder.file("film.mp4")) != std::string::npos);
    CHECK(content(folder.file("config/meshscope/unfinished/long-shape.toml")).find("shape = [2]") !=
          std::string::npos);
}

TEST_CASE("a driver that starts anew gets another window, with everything that was open in it") {
    const Folder folder;
    const VirtualDisplay display(folder.path.string());
    const std::string lose = folder.file("lose");
    DrivenApp app(display, folder.path.string(), {"hsdp", "--lang", "en", "--size", "1000x700"},
                  {"LD_PRELOAD=" MESHSCOPE_LOSE_CONTEXT, "MESHSCOPE_TEST_LOSE_CONTEXT=" + lose});
    opened(app, "63_hsdp");
    app.key("Down");
    app.key("Down");
    app.key("t");
    json before = app.wait_for("a place", [](const json& s) {
        return s["lesson_step"] == 2 && s["theme"] == "light" && s["toast"].is_null();
    });
    folder.write("lose", "");
    app.key("n");  // a key draws a frame, and that finds it; the key itself may go down with the old window
    json s = app.wait_for("another window", [](const json& x) { return x["toast"].is_string(); });
    CHECK_FALSE(fs::exists(lose));
    CHECK(s["toast"].get<std::string>().find("started anew") != std::string::npos);
    for (const char* same :
         {"document", "lesson_step", "theme", "view", "cursor_ns", "selection", "quizzes"}) {
        INFO(same);
        CHECK(s[same] == before[same]);
    }
    // It takes pointer and keys as the first one did, and loses its context as well as that one.
    app.find_window();
    for (int i = 0; i < 2; ++i) {
        app.key("Down");
        app.wait_for("a key", [&](const json& x) { return x["lesson_step"] == 3 + i; });
        app.click("tab3");
        app.wait_for("the pointer", [](const json& x) { return x["view"] == "memory"; });
        if (i == 1) break;
        folder.write("lose", "");
        app.key("n");
        app.wait_for("once more", [&](const json&) { return !fs::exists(lose); });
        app.find_window();
        app.key("1");
        app.wait_for("the other view", [](const json& x) { return x["view"] == "mesh"; });
    }
    CHECK(app.close() == 0);
    json kept = json::parse(content(folder.file("config/meshscope/settings.json")), nullptr, false);
    REQUIRE(kept.is_object());
    CHECK(kept["window"] == json({1000, 700}));
}

TEST_CASE("a display that goes away ends the program in order: settings, edits and the half film") {
    const Folder folder;
    VirtualDisplay display(folder.path.string());
    DrivenApp app(display, folder.path.string(),
                  {small_scenario(folder), "--lang", "en", "--size", "1280x900"});
    run_long(app, false);
    app.key("Escape");
    app.wait_for("no field", [](const json& x) { return x["typing"] == false; });
    app.key("t");
    app.wait_for("light", [](const json& x) { return x["theme"] == "light"; });
    app.key("ctrl+e");
    app.fill("export_path", folder.file("film.mp4"));
    app.click("export_go");
    app.wait_for("a film is made", [](const json& x) { return x["exporting"].is_string(); });
    display.end();
    CHECK(app.wait() == 69);
    CHECK(app.output().find("the display has gone away") != std::string::npos);
    for (const auto& entry : fs::directory_iterator(folder.path)) {
        INFO(entry.path());
        CHECK(entry.path().filename().string().find("film.mp4") == std::string::npos);
    }
    json kept = json::parse(content(folder.file("config/meshscope/settings.json")), nullptr, false);
    REQUIRE(kept.is_object());
    CHECK(kept["theme"] == "light");
    CHECK(kept["unfinished"].size() == 2);
    CHECK(content(folder.file("config/meshscope/unfinished/long-steps.toml")).find("steps = 120000") !=
          std::string::npos);
}

TEST_CASE("a display without OpenGL, and a machine without EGL, are told in both languages, with 69") {
    const Folder folder;
    const VirtualDisplay display(folder.path.string(), "800x600x24", {"-extension", "GLX"});
    for (const auto& [language, words] :
         {std::pair<std::string, std::string>{"en", "no window could be opened"}, {"zh", "窗口打不开"}}) {
        const std::string log = folder.file(language);
        CHECK(Child({kApp, "--lang", language}, {"DISPLAY=" + display.name(), "XDG_CONFIG_HOME=" + log}, log)
                  .wait() == 69);
        CHECK(content(log).find(words) != std::string::npos);
    }
    const std::string log = folder.file("egl");
    CHECK(Child({kApp, "hsdp", "--export", folder.file("a.png")},
                {"DISPLAY=", "WAYLAND_DISPLAY=", "LC_ALL=C",
                 "__EGL_VENDOR_LIBRARY_FILENAMES=" + folder.file("none"),
                 "MESHSCOPE_SCENARIOS=" + meshscope::test::source_root() + "/scenarios"},
                log)
              .wait() == 69);
    INFO(content(log));
    CHECK(content(log).find("EGL") != std::string::npos);
    CHECK_FALSE(fs::exists(folder.path / "a.png"));
}

TEST_CASE("a settings file that is none is told also when a lesson is opened at once, and lies aside") {
    const Folder folder;
    const VirtualDisplay display(folder.path.string());
    folder.write("config/meshscope/settings.json", "{\"theme\": \"li");
    const DrivenApp app(display, folder.path.string(), {"hsdp", "--lang", "en"});
    opened(app, "63_hsdp");
    const json s = app.wait_for("it is told", [](const json& x) { return x["error"].is_array(); });
    CHECK(said(s).find("settings.json.broken") != std::string::npos);
    CHECK(content(folder.file("config/meshscope/settings.json.broken")) == "{\"theme\": \"li");
}

TEST_CASE("a damaged trace is told with its place, the window stays and what was open stays open") {
    const Folder folder;
    const VirtualDisplay display(folder.path.string());
    const std::string trace = folder.file("mine.mscope");
    output_of({meshscope::test::bin_folder() + "/meshscope", "run", small_scenario(folder), "--trace", trace},
              {}, folder.path.string());
    DrivenApp app(display, folder.path.string(), {trace, "--lang", "en", "--size", "1280x720"});
    opened(app, "mine.mscope");
    const auto palette = [&](const std::string& words) {
        app.key("ctrl+k");
        app.wait_for("the palette",
                     [](const json& s) { return s["palette"] == true && s["typing"] == true; });
        app.act({"type", "--delay", "20", words});
        app.key("Return");
    };
    palette("cut inside");
    opened(app, "63_hsdp");
    app.key("Down");
    const json before = app.wait_for("a place", [](const json& s) { return s["lesson_step"] == 1; });

    const std::string whole = content(trace);
    std::string half = whole.substr(0, whole.size() / 2), flipped = whole;
    const std::size_t kept_text = whole.find("global_batch");  // a byte that is read: of the scenario's text
    REQUIRE(kept_text != std::string::npos);
    flipped[kept_text] = static_cast<char>(~flipped[kept_text]);
    for (const std::string& damaged : {half, flipped}) {
        INFO((damaged.size() == whole.size() ? "a byte is another" : "the end is missing"));
        std::ofstream(trace, std::ios::binary) << damaged;
        palette("open again mine");
        const json s = app.wait_for("it is told", [](const json& x) { return x["error"].is_array(); });
        INFO(said(s));
        CHECK(said(s).find("mine.mscope") != std::string::npos);
        CHECK(s["document"] == "63_hsdp");
        CHECK(s["lesson_step"] == 1);
        CHECK(s["runs"] == before["runs"]);
        app.key("Escape");
        app.wait_for("read", [](const json& x) { return x["error"].is_null(); });
    }
    std::ofstream(trace, std::ios::binary) << whole;
    palette("open again mine");
    opened(app, "mine.mscope");
    CHECK(app.running());
}

TEST_CASE("a full disk under the real window: the export says so, the file that was there is as it was") {
    const Folder folder;
    const VirtualDisplay display(folder.path.string());
    const std::string page = folder.file("a.html");
    DrivenApp app(display, folder.path.string(), {"78_three_d", "--lang", "en", "--size", "800x600"});
    opened(app, "78_three_d");
    app.key("1");
    app.wait_for("the mesh, whose state is short", [](const json& x) { return x["view"] == "mesh"; });
    const auto write = [&](bool again) {
        app.key("ctrl+e");
        app.fill("export_path", page);
        if (again)
            replace(app);
        else
            app.click("export_go");
    };
    const auto written = [&] {
        app.wait_for("the page", [&](const json& x) {
            return x["exporting"].is_null() && x["toast"].is_string() && fs::exists(page);
        });
        app.wait_for("read", [](const json& x) { return x["toast"].is_null(); });
    };
    write(false);
    written();
    const std::string whole = content(page);
    REQUIRE(whole.size() > 2 * app.state().dump().size());
    // No file of the program may grow beyond this: its state and settings are smaller, the page is larger.
    const auto limit = [&](const std::string& bytes) {
        output_of({"prlimit", "--pid", std::to_string(app.pid()), "--fsize=" + bytes + ":"}, {},
                  folder.path.string());
    };
    limit(std::to_string(whole.size() * 3 / 4));
    write(true);
    const json s = app.wait_for("it is told", [](const json& x) { return x["error"].is_array(); });
    INFO(said(s));
    CHECK(said(s).find("a.html") != std::string::npos);
    CHECK(s["exporting"].is_null());
    CHECK(content(page) == whole);
    for (const auto& entry : fs::directory_iterator(folder.path)) {
        INFO(entry.path());
        CHECK(entry.path().filename().string().find(".part-") == std::string::npos);
    }
    app.key("Escape");
    app.wait_for("read", [](const json& x) { return x["error"].is_null() && x["document"] == "78_three_d"; });
    limit("unlimited");
    write(true);
    written();
    CHECK(content(page) == whole);
}
