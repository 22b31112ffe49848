#include <algorithm>
#include <filesystem>

#include "class_room.h"
#include "tests/folder.h"
#include "tests/test.h"

/// The twenty things of a class, one after the other in the real window, by pointer and keys.

using namespace meshscope::test;
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

constexpr double kTop = 70, kBottom = 760;  ///< between the bar above and what stays below, at 1280 × 900

/// One of the twenty; what fails in it is told with its name.
template <class Do>
void thing(const std::string& name, const Do& act) {
    INFO(name);
    act();
}

/// What the lesson's first question stands at; empty before anything was typed.
json question(const json& state) {
    return state["quizzes"].value("padded-rows",
                                  json{{"guess", ""}, {"hint_shown", false}, {"revealed", false}});
}

void lesson_and_questions(ClassRoom& at) {
    DrivenApp& app = at.app();
    thing("1 the welcome page opens lesson 63 by a click", [&] {
        const json s = at.until("lessons are offered", [](const json& x) { return x["offers"].size() > 40; });
        const auto& offers = s["offers"];
        const auto found = std::find(offers.begin(), offers.end(), "63_hsdp");
        REQUIRE(found != offers.end());
        CHECK(s["document"].is_null());
        app.scroll_and_click("chapter6", kTop, 860);
        app.scroll_and_click("offer" + std::to_string(found - offers.begin()), kTop, 860);
        at.until("the lesson", [](const json& x) { return x["document"] == "63_hsdp"; });
    });
    thing("2 a key goes to the next step", [&] {
        app.key("Down");
        at.until("step 2", [](const json& s) { return s["lesson_step"] == 1; });
        app.key("Up");
        at.until("step 1", [](const json& s) { return s["lesson_step"] == 0; });
    });
    // 5 rows on 2 ranks are 3 and 2, each 10 weights and a bias; the smaller part is padded to the larger.
    thing("3 a wrong answer shows its hint and reveals nothing", [&] {
        app.scroll_and_click("padded-rows.number", kTop, kBottom - 60);
        app.fill("padded-rows.number", "22");
        at.until("the guess", [](const json& s) { return question(s)["guess"] == "22"; });
        app.scroll_and_click("padded-rows.hint", kTop, kBottom - 60);
        const json s = at.until("a hint", [](const json& x) { return question(x)["hint_shown"] == true; });
        CHECK(question(s)["revealed"] == false);
    });
    thing("4 the right answer is revealed", [&] {
        app.fill("padded-rows.number", "33");
        at.until("the other guess", [](const json& s) { return question(s)["guess"] == "33"; });
        app.scroll_and_click("padded-rows.check", kTop, kBottom - 60);
        at.until("it is revealed", [](const json& s) {
            return question(s)["revealed"] == true && question(s)["guess"] == "33";
        });
    });
}

void mesh_of_eight(ClassRoom& at) {
    DrivenApp& app = at.app();
    at.palette("who is in whose group");
    at.until("lesson 12", [](const json& s) { return s["document"] == "12_device_mesh"; });
    app.key("Down");  // a step that speaks of rank 0
    json s = at.until("rank 0 asks", [](const json& x) {
        return x["view"] == "mesh" && x["selection"]["asking_rank"] == 0 && has_place(x, "axis", 1);
    });
    thing("5 a click on a dim's name slices the mesh, and another brings it back together", [&] {
        for (const char* slice : {"shard", ""}) {
            app.click_at([](const json& x) { return place(x, "axis", 1); });
            s = at.until("slice " + std::string(slice),
                         [&](const json& x) { return x["selection"]["slice"] == slice; });
        }
    });
    thing("6 a slice is typed", [&] {
        app.fill("slice", "replicate, shard");
        app.hold({"Return"});
        s = at.until("it is taken",
                     [](const json& x) { return x["selection"]["slice"] == "replicate,shard"; });
    });
    thing("7 a click makes the reader rank 5", [&] {
        app.click_at([](const json& x) { return place(x, "rank", 5); });
        at.until("rank 5 asks", [](const json& x) { return x["selection"]["asking_rank"] == 5; });
    });
}

void peak_and_variants(ClassRoom& at) {
    DrivenApp& app = at.app();
    app.key("ctrl+w");
    app.scroll_and_click("recent1", kTop, 860);
    at.until("lesson 63 again", [](const json& x) { return x["document"] == "63_hsdp"; });
    app.click("step7");
    json s =
        at.until("the step of the peak", [](const json& x) { return x["selection"]["event"].is_number(); });
    const int peak = s["selection"]["event"].get<int>();
    thing("8 the timeline is scrubbed to the peak", [&] {
        at.view("3", "timeline");
        app.key("Escape");
        s = at.until("nothing is selected", [&](const json& x) {
            return x["selection"]["event"].is_null() && x["view"] == "timeline" &&
                   has_place(x, "event", 0, peak);
        });
        const json bar = place(s, "event", 0, peak), pill = line_of_words(s, "cursor", -1);
        const double ruler = pill[1].get<double>() + pill[3].get<double>() / 2;
        app.move(bar[0].get<double>() - 150, ruler);
        app.act({"mousedown", "1"});
        at.until("before it",
                 [&](const json& x) { return x["shown"].is_object() && x["shown"]["event"] < peak; });
        app.move(bar[0].get<double>() + bar[2].get<double>() / 2, ruler);
        at.until("at it", [&](const json& x) { return x["shown"] == json({{"rank", 0}, {"event", peak}}); });
        app.act({"mouseup", "1"});
    });
    thing("9 Memory shows the flag, and a click on it its cause", [&] {
        s = at.view("4", "memory");
        s = at.until("the flag", [](const json& x) {
            return has_place(x, "peak", 0) && x["boxes"].contains("what_if.keep");
        });
        CHECK(has_place(s, "peak", 0, peak));
        app.click_at([](const json& x) { return line_of_words(x, "peak", 0); });
        at.until("its cause", [&](const json& x) {
            return x["selection"]["event_rank"] == 0 && x["selection"]["event"] == peak;
        });
    });
    thing("10 a what-if button runs the variant and lays it beside", [&] {
        app.scroll_and_click("what_if.keep", kTop, 860);
        s = at.until("the variant",
                     [](const json& x) { return x["runs"].size() == 2 && x["running"] == false; });
        CHECK(s["front"] == 0);
        CHECK(s["view"] == "memory");
        app.scroll_and_click("what_if.compare.keep", kTop, 860);
        at.until("side by side", [](const json& x) {
            return x["view"] == "compare" && has_place(x, "run", 1) && has_place(x, "difference", 0);
        });
    });
    thing("11 two strategies are compared", [&] {
        s = at.until("it can be closed", [](const json& x) { return has_place(x, "close_run", 1); });
        app.click_at([](const json& x) { return place(x, "close_run", 1); });
        at.until("alone", [](const json& x) { return x["runs"].size() == 1; });
        app.click("strategy0");
        s = at.until("two",
                     [](const json& x) { return x["runs"].size() == 2 && has_place(x, "difference", 0); });
        CHECK(s["view"] == "compare");
        CHECK(s["runs"][0]["name"] == "63_hsdp");
        CHECK(s["runs"][1]["name"] != "63_hsdp");
    });
}

void sandbox(ClassRoom& at) {
    DrivenApp& app = at.app();
    app.key("e");
    json s = at.until("the sandbox", [](const json& x) { return x["boxes"].contains("sandbox.at.run"); });
    const std::string before = s["sandbox"]["text"];
    const double foot = s["boxes"]["sandbox.at.run"][1].get<double>() - 20;
    const auto has = [](const json& x, const std::string& part) {
        return x["sandbox"]["text"].get<std::string>().find(part) != std::string::npos;
    };
    const auto right = [&](const json& x, const std::string& part) {
        return has(x, part) && x["sandbox"]["mistakes"].empty();
    };
    thing("12 the mesh is changed, undone, done again", [&] {
        app.scroll_and_click("sandbox.at.mesh.shape", kTop, foot);
        app.fill("sandbox.at.mesh.shape", "2, 4");
        at.until("eight ranks", [&](const json& x) { return right(x, "shape = [2, 4]"); });
        app.click("sandbox.at.undo");
        at.until("undone", [&](const json& x) { return x["sandbox"]["text"] == before; });
        app.key("ctrl+shift+z");
        at.until("done again", [&](const json& x) { return right(x, "shape = [2, 4]"); });
    });
    thing("13 a mistake is marked at its field", [&] {
        app.scroll_and_click("sandbox.at.train.global_batch", kTop, foot);
        app.fill("sandbox.at.train.global_batch", "7");
        // What is drawn may be of the frame before what is known.
        s = at.until("a mistake in the place of Run", [](const json& x) {
            return !x["sandbox"]["mistakes"].empty() && x["boxes"].contains("sandbox.at.mistakes") &&
                   !x["boxes"].contains("sandbox.at.run");
        });
        CHECK(s["sandbox"]["mistakes"][0]["id"] == "scenario.batch_does_not_divide");
        CHECK(s["sandbox"]["mistakes"][0]["key"] == "train.global_batch");
        app.click("sandbox.at.undo");
        at.until("mended", [&](const json& x) { return right(x, "global_batch = 8"); });
    });
    thing("14 it is run, and its record opens", [&] {
        app.click("sandbox.at.run");
        s = at.until("its record", [](const json& x) { return x["runs"].size() == 3 && x["front"] == 2; });
        CHECK(s["document"] == "63_hsdp · shape");
        CHECK(s["runs"][2]["ranks"] == 8);
    });
    app.key("Escape");
    at.until("the lesson's place is free", [](const json& x) { return x["sandbox"].is_null(); });
}

void deadlock(ClassRoom& at) {
    DrivenApp& app = at.app();
    at.palette("open again ring");
    at.until("two ranks", [](const json& x) { return x["document"] == "ring"; });
    thing("15 a deadlock is made rank by rank, and its ring is named", [&] {
        app.key("e");
        json s = at.until("the sandbox", [](const json& x) { return x["boxes"].contains("sandbox.at.run"); });
        const double foot = s["boxes"]["sandbox.at.run"][1].get<double>() - 20;
        app.scroll_and_click("sandbox.at.faults.kind=mismatch", kTop, foot);
        app.scroll_and_click("sandbox.at.faults.field=root", kTop, foot);
        at.until("two roots", [](const json& x) {
            return x["sandbox"]["text"].get<std::string>().find("field = \"root\"") != std::string::npos &&
                   x["sandbox"]["mistakes"].empty();
        });
        app.click("sandbox.at.live");
        app.click("live.at.call.0");
        at.until("rank 0 went on", [](const json& x) {
            return x["live"].is_object() && x["live"]["acts"] > 0 && x["live"]["going"] == false;
        });
        app.click("live.at.all");
        s = at.until("it is named",
                     [](const json& x) { return x["live"].is_object() && x["live"]["diagnosed"] == true; });
        CHECK(s["live"]["diagnosis"] == "comm.deadlock");
        CHECK(s["live"]["cycle"] == json({0, 1}));
        CHECK(s["live"]["waits_for"] == json({1, 0}));
        app.click("live.at.stop");
        at.until("it is over", [](const json& x) { return x["live"].is_null(); });
        app.key("Escape");
        at.until("the lesson's place is free", [](const json& x) { return x["sandbox"].is_null(); });
    });
}

void look_and_export(ClassRoom& at) {
    DrivenApp& app = at.app();
    at.palette("open again 63_hsdp");
    json s = at.until("lesson 63, where it was left",
                      [](const json& x) { return x["document"] == "63_hsdp" && x["lesson_step"] == 7; });
    const json english = s["boxes"]["tab0"], help = s["boxes"]["help"];
    thing("16 the language changes at once", [&] {
        app.key("l");
        s = at.until("Chinese", [&](const json& x) {
            return x["language"] == "zh" && x["boxes"]["tab0"][2] != english[2];
        });
    });
    thing("17 theme and text size change", [&] {
        app.key("t");
        at.until("light", [](const json& x) { return x["theme"] == "light"; });
        app.key("ctrl+equal");
        at.until("125 %", [&](const json& x) {
            return x["scale"] == 1.25 && x["boxes"]["help"][2].get<double>() > 1.2 * help[2].get<double>();
        });
    });
    app.xdotool({"windowsize", "@", "640", "400"});  // small frames are quick ones
    at.until("small", [](const json& x) { return x["boxes"]["help"][0].get<double>() < 640; });
    thing("18 a film is written, or what is missing is said", [&] {
        const std::string film = at.folder().file("class.mp4");
        at.export_to(film);
        if (in_path("ffmpeg")) {
            at.until(
                "the film", [&](const json& x) { return x["exporting"].is_null() && fs::exists(film); }, 5);
            CHECK(content(film).substr(4, 4) == "ftyp");
            return;
        }
        s = at.until("what is missing", [](const json& x) { return x["error"].is_array(); });
        CHECK(s["error"][0].get<std::string>().find("ffmpeg") != std::string::npos);
        CHECK_FALSE(fs::exists(film));
        app.key("Escape");
        app.key("Escape");
    });
    thing("19 a page is written, and holds the run", [&] {
        const std::string path = at.folder().file("class.html");
        at.export_to(path);
        at.until("the page", [&](const json& x) { return x["exporting"].is_null() && fs::exists(path); });
        const std::string page = content(path);
        CHECK(page.find(".mscope\" data-place=") != std::string::npos);
        CHECK(page.find("lang=zh") != std::string::npos);
        CHECK(page.find("</html>") != std::string::npos);
        CHECK(page.size() > 50'000);  // the record
    });
    app.xdotool({"windowsize", "@", "1280", "900"});
    at.until("large", [](const json& x) { return x["boxes"]["help"][0].get<double>() > 1000; });
}

void end_and_again(ClassRoom& at) {
    thing("20 presenting from the palette, the end, and all is there again", [&] {
        at.palette("present to a class");
        at.until("presenting", [](const json& x) { return x["presenter"] == true; });
        CHECK(at.app().close() == 0);
        at.start({});
        json kept = json::parse(content(at.folder().file("config/meshscope/settings.json")), nullptr, false);
        REQUIRE(kept.is_object());
        const auto& recent = kept["recent"];
        const auto lesson = std::find_if(recent.begin(), recent.end(),
                                         [](const json& one) { return one["name"] == "63_hsdp"; });
        REQUIRE(lesson != recent.end());
        const std::string line = "recent" + std::to_string(lesson - recent.begin());
        json s = at.until("the welcome page", [&](const json& x) { return x["boxes"].contains(line); });
        CHECK(s["language"] == "zh");
        CHECK(s["theme"] == "light");
        CHECK(s["scale"] == 1.25);
        CHECK(s["presenter"] == false);
        at.app().click(line);
        s = at.until("lesson 63",
                     [](const json& x) { return x["document"] == "63_hsdp" && x["lesson_step"] == 7; });
        CHECK(question(s)["revealed"] == true);
        CHECK(question(s)["guess"] == "33");
        kept = json::parse(content(at.folder().file("config/meshscope/settings.json")), nullptr, false);
        REQUIRE(kept.is_object());
        CHECK(kept["lessons"]["63_hsdp"]["seen"].size() == 3);
        CHECK(kept["window"] == json({1280, 900}));
        CHECK(at.app().close() == 0);
    });
}

}  // namespace

TEST_CASE("a class of twenty things, by pointer and keys in the real window, each ending as it should") {
    ClassRoom at;
    lesson_and_questions(at);
    mesh_of_eight(at);
    peak_and_variants(at);
    sandbox(at);
    deadlock(at);
    look_and_export(at);
    end_and_again(at);
}
