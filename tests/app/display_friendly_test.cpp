#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "display.h"
#include "tests/folder.h"
#include "tests/test.h"

using namespace meshscope::test;
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

json ready(const DrivenApp& app) {
    return app.wait_for("the lesson is open",
                        [](const json& s) { return s["document"] == "63_hsdp" && !s["boxes"].empty(); });
}

}  // namespace

TEST_CASE("the window opens as it was left: language, theme, text size, view, step, a broken file is told") {
    const Folder folder;
    const VirtualDisplay display(folder.path.string());
    {
        DrivenApp app(display, folder.path.string(), {"hsdp", "--size", "1300x740"});
        ready(app);
        for (const char* key : {"l", "t", "ctrl+equal", "Down", "Down", "4"}) app.key(key);
        app.wait_for("all chosen", [](const json& s) {
            return s["language"] == "zh" && s["theme"] == "light" && s["scale"] == 1.25 &&
                   s["lesson_step"] == 2 && s["view"] == "memory";
        });
        // It is written while the window runs, so that nothing is lost with it.
        app.wait_for("it is kept", [&](const json&) {
            const json file =
                json::parse(content(folder.file("config/meshscope/settings.json")), nullptr, false);
            return file.is_object() && file.value("theme", "") == "light" && file.contains("lessons") &&
                   file["lessons"].contains("63_hsdp") && file["lessons"]["63_hsdp"]["seen"].size() == 3 &&
                   file.contains("places") && file["places"][0].value("view", "") == "memory";
        });
    }
    const std::string file = folder.file("config/meshscope/settings.json");
    const json kept = json::parse(content(file), nullptr, false);
    REQUIRE(kept.is_object());
    CHECK(kept["window"] == json({1300, 740}));
    CHECK(kept["lessons"]["63_hsdp"]["seen"].size() == 3);
    {
        DrivenApp app(display, folder.path.string(), {});
        json s =
            app.wait_for("the welcome page", [](const json& x) { return x["boxes"].contains("recent0"); });
        CHECK(s["language"] == "zh");
        CHECK(s["theme"] == "light");
        CHECK(s["scale"] == 1.25);
        app.scroll_and_click("recent0", 60, 720);
        s = ready(app);
        CHECK(s["lesson_step"] == 2);
        CHECK(s["view"] == "memory");
    }
    std::ofstream(file) << "{ broken";
    DrivenApp app(display, folder.path.string(), {"--lang", "en"});
    const json s = app.wait_for("it is said", [](const json& x) { return x["error"].is_array(); });
    CHECK(s["error"][0].get<std::string>().find("settings.json.broken") != std::string::npos);
    CHECK(s["theme"] == "dark");
    CHECK(content(file + ".broken") == "{ broken");
}

TEST_CASE(
    "a real keyboard finds a view in the palette, and a picture and a film are written from the window") {
    const Folder folder;
    const VirtualDisplay display(folder.path.string());
    DrivenApp app(display, folder.path.string(), {"hsdp", "--lang", "en", "--size", "1280x720"});
    ready(app);
    app.key("ctrl+k");
    app.wait_for("the palette", [](const json& s) { return s["palette"] == true && s["typing"] == true; });
    app.xdotool({"type", "--delay", "60", "view traffic"});
    app.wait_for("it is found", [](const json& s) { return s["boxes"].size() > 0; });
    app.key("Return");
    app.wait_for("traffic", [](const json& s) { return s["palette"] == false && s["view"] == "traffic"; });

    const auto write = [&](const std::string& path) {
        app.key("ctrl+e");
        const json s =
            app.wait_for("the sheet", [](const json& x) { return x["boxes"].contains("export_path"); });
        app.click(s["boxes"]["export_path"]);
        app.wait_for("typing", [](const json& x) { return x["typing"] == true; });
        // A tap shorter than a frame is lost on ImGui's fields: held, as a hand does.
        app.xdotool({"keydown", "ctrl", "keydown", "a"});
        app.xdotool({"sleep", "0.3", "keyup", "a", "keyup", "ctrl"});
        app.xdotool({"type", "--delay", "40", path});
        app.xdotool({"sleep", "0.3"});
        app.click(app.state()["boxes"]["export_go"]);
    };
    write(folder.file("a.png"));
    app.wait_for("the picture is written", [&](const json& s) {
        return s["exporting"].is_null() && s["export_sheet"] == false && fs::exists(folder.path / "a.png");
    });
    CHECK(content(folder.file("a.png")).substr(1, 3) == "PNG");
    // A film shows how far it is, and can be cancelled: nothing of it is left.
    write(folder.file("b.mp4"));
    const json s = app.wait_for("the film is being made", [](const json& x) {
        return x["exporting"].is_string() && x["boxes"].contains("export_cancel");
    });
    app.click(s["boxes"]["export_cancel"]);
    app.wait_for("cancelled", [](const json& x) { return x["exporting"].is_null(); });
    for (const auto& entry : fs::directory_iterator(folder.path)) {
        INFO(entry.path());
        CHECK(entry.path().filename().string().find("b.mp4") == std::string::npos);
    }
    CHECK(app.running());
}

TEST_CASE("an idle window uses no processor to speak of") {
    const Folder folder;
    const VirtualDisplay display(folder.path.string());
    DrivenApp app(display, folder.path.string(), {"hsdp", "--lang", "en", "--size", "1280x720"});
    ready(app);
    ::sleep(3);
    const double before = app.cpu_seconds();
    ::sleep(5);
    const double used = (app.cpu_seconds() - before) / 5;
    INFO(used);
    CHECK(used < 0.01);
}

TEST_CASE("an answer that is entered faster than frames come is taken, and what became of it drawn unasked") {
    for (const bool by_key : {true, false}) {
        const Folder folder;
        const VirtualDisplay display(folder.path.string());
        DrivenApp app(display, folder.path.string(),
                      {"11_processes", "--lang", "en", "--size", "1280x720", "--step", "2"});
        app.wait_for("the question", [](const json& s) { return s["boxes"].contains("local-rank.number"); });
        app.fill("local-rank.number", by_key ? "4" : "47");
        app.wait_for("the guess", [](const json& s) { return s["quizzes"]["local-rank"]["guess"] != ""; });
        if (!by_key) {
            const json box = app.wait_for("Check", [](const json& s) {
                return s["boxes"].contains("local-rank.check");
            })["boxes"]["local-rank.check"];
            app.move(box[0].get<double>() + box[2].get<double>() / 2,
                     box[1].get<double>() + box[3].get<double>() / 2);
        }
        // All of it comes between two frames.
        ::kill(app.pid(), SIGSTOP);
        if (by_key)
            for (const char* key : {"7", "Return"}) app.xdotool({"key", "--delay", "0", key});
        else
            app.xdotool({"click", "--delay", "0", "1"});
        ::kill(app.pid(), SIGCONT);
        const json s =
            app.wait_for("the answer is wrong, and that is in view without another input", [](const json& x) {
                const auto& boxes = x["boxes"];
                if (!boxes.contains("local-rank.reveal")) return false;
                const auto& reveal = boxes["local-rank.reveal"];
                return reveal[1].get<double>() + reveal[3].get<double>() <=
                       boxes["lesson_on"][1].get<double>() - 10;
            });
        CHECK(s["quizzes"]["local-rank"]["guess"] == "47");
    }
}
