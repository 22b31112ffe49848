// A plan in the window: opened from its file, its chart, its layouts' modelled runs.
#include <algorithm>
#include <chrono>
#include <string>
#include <thread>

#include "app/gui/session/dropped.h"
#include "app/gui/session/planned.h"
#include "app/gui/session/session.h"
#include "app/gui/session/settings.h"
#include "core/base/error.h"
#include "core/base/json_text.h"
#include "core/estimate/layout_figures.h"
#include "core/scenario/plan_json.h"
#include "harness.h"
#include "tests/folder.h"
#include "tests/scenario/small_plan.h"
#include "tests/test.h"
#include "tests/thrown.h"
#include "tests/tree.h"

using namespace meshscope;
using session::Planned;
using test::Folder;
using test::Harness;

namespace {

/// A file as `meshscope plan --json` writes it, of a model of 8 layers; of so much memory a GPU.
std::string plan_file(const Folder& folder, int64_t gpus, double memory_bytes = 0, int64_t base_bits = 16,
                      double slower = 1, const char* profile = "h100") {
    scenario::PlanFile file = test::small_plan(gpus);
    estimate::Question& q = file.question;
    q.base_bits = base_bits;
    q.lora_rank = base_bits == 4 ? 8 : 0;
    if (memory_bytes > 0) q.memory_bytes = memory_bytes;
    q.profile.name = profile;
    for (double* figure :
         {&q.profile.flops_per_s, &q.profile.bfloat16_flops_per_s, &q.profile.memory_bytes_per_s})
        *figure /= slower;
    return folder.write("plan.json",
                        json_text(nlohmann::ordered_json{{"parameters", 1},
                                                         {"gpus", gpus},
                                                         {"gpus_per_node", 8},
                                                         {"question", scenario::question_json(file)}}));
}

/// The window with a session behind it, as the program has them.
struct Window : Harness {
    session::Session session{{}};

    explicit Window(int width = 1280, int height = 720) : Harness(width, height) {}
    /// Until nothing is opened any more, and so many runs stand side by side.
    void wait(std::size_t runs = 0) {
        const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(5);
        do {
            for (const session::Action& action : session.news(test::catalogue(), i18n::Language::en))
                stage().act(action);
            std::this_thread::sleep_for(std::chrono::milliseconds(2));
            REQUIRE(std::chrono::steady_clock::now() < end);
        } while (state().loading || state().runs.size() < runs);
        frames(3);
    }
    void open_plan(const std::string& path) {
        session.open(path);
        stage().act(session::ShowLoading{session::Loading{path}});
        wait();
    }
    // What the program does with the wishes of a frame.
    void change_plan() {
        frames(2);
        const session::Effects effects = stage().take_effects();
        REQUIRE(effects.change_plan);
        session.change_plan(state().plan, *effects.change_plan);
        stage().act(session::ShowLoading{session::Loading{"plan"}});
        wait();
    }
    void open_layout() {
        frames(2);
        const session::Effects effects = stage().take_effects();
        REQUIRE(effects.open_layout);
        session.open_layout(state().plan, *effects.open_layout);
        stage().act(session::ShowLoading{session::Loading{"layout"}});
        wait(effects.open_layout->with_fastest ? 2 : 1);
    }
};

std::size_t first_of(const Planned& plan, bool fits) {
    for (std::size_t i = 0; i < plan.layouts.size(); ++i)
        if (plan.layouts[i].fits == fits) return i;
    throw std::runtime_error("no such layout");
}

}  // namespace

TEST_CASE("a plan opens as a chart: the fastest first, with those that nothing beats in time and memory") {
    const Folder folder;
    Window app;
    app.open_plan(plan_file(folder, 8));
    REQUIRE(app.state().plan);
    const Planned& plan = *app.state().plan;
    CHECK(app.state().document == nullptr);
    CHECK(app.state().remembered.recent.front().path == folder.file("plan.json"));
    REQUIRE(plan.layouts.size() > 4);
    std::size_t front = 0;
    for (const session::PlannedLayout& each : plan.layouts) {
        if (!each.front) continue;
        ++front;
        for (const session::PlannedLayout& other : plan.layouts)
            CHECK(!(other.fits && other.estimate->time.total_s() < each.estimate->time.total_s() &&
                    other.estimate->needed_bytes < each.estimate->needed_bytes));
    }
    CHECK(front == plan.plan.pareto().size());
    // The faster stands further left, the smaller lower.
    const auto last = plan.layouts.size() - 1;
    CHECK(app.shape("layout", 0).x < app.shape("layout", static_cast<int64_t>(last)).x);
    app.click(app.shape("layout", 3));
    app.frames(2);
    const auto& chosen = *plan.layouts[app.state().layout].estimate;
    CHECK(app.shape("layout", 3).x == app.shape("layout", static_cast<int64_t>(app.state().layout)).x);
    app.stage().tell(true);
    app.frames(1);
    CHECK(app.stage().memory().told.find(estimate::layout_word(chosen.job)) != std::string::npos);
}

TEST_CASE("a layout of the chart opens as its modelled run, and closing leads back to the chart") {
    const Folder folder;
    Window app(1280, 1400);  // high enough for the list of layouts
    app.open_plan(plan_file(folder, 8));
    app.click(app.widget("plan_layout1"));
    app.frames(2);
    CHECK(app.state().layout == 1);
    app.click(app.widget("plan_open"));
    app.open_layout();
    REQUIRE(app.state().document);
    const trace::Trace& run = *app.state().document->trace;
    CHECK(run.info.world_size == 8);
    CHECK(app.state().document->name == estimate::layout_word(app.state().plan->layouts[1].estimate->job));
    CHECK(app.state().document->modelled.end_ns > 0);
    CHECK(app.state().view == view::ViewKind::timeline);
    for (const auto& rank : run.ranks) CHECK(!rank.events.empty());
    // Nothing was measured, and the command's --clock has nothing else to show.
    CHECK(app.state().document->measured.end_ns == app.state().document->modelled.end_ns);
    for (const view::ViewKind kind : view::kViewKinds) {  // every view has something to say of such a run
        app.stage().act(session::SetView{kind});
        app.frames(3);
    }
    app.click(app.widget("back_to_plan"));
    app.frames(3);
    CHECK(app.state().document == nullptr);
    CHECK(app.has_widget("plan_open"));
    CHECK(app.state().layout == 1);
    // Beside the fastest.
    app.click(app.widget("plan_compare"));
    app.open_layout();
    CHECK(app.state().runs.size() == 2);
    CHECK(app.state().view == view::ViewKind::compare);
    // What is said of the run in front is the estimate of its own layout.
    for (const int32_t beside : {0, 1}) {
        app.stage().act(session::BringToFront{beside});
        app.stage().act(session::SetView{view::ViewKind::timeline});
        app.frames(2);
        CHECK(app.state().document->layout == (beside == 0 ? 1 : 0));
        CHECK(app.has_widget("back_to_plan"));
    }
    app.stage().act(session::CloseDocument{});
    app.frames(3);
    // Arrows go from layout to layout.
    app.key(window::Key::down);
    CHECK(app.state().layout == 2);
    app.key(window::Key::left);
    CHECK(app.state().layout == 1);
    // Enter opens it again: no lesson, as on the page of lessons.
    app.key(window::Key::enter);
    app.open_layout();
    CHECK(app.state().document);
    app.stage().act(session::CloseDocument{});
    app.frames(3);
    app.click(app.widget("plan_close"));
    app.frames(3);
    CHECK(!app.state().plan);
    CHECK(app.has_widget("open_path"));
}

TEST_CASE(
    "closing a plan while a layout is modelled gives that up, and what else is opened leaves the plan") {
    const Folder folder;
    Window app;
    const std::string path = plan_file(folder, 8);
    app.open_plan(path);
    app.stage().act(session::ShowLoading{session::Loading{"layout"}});
    app.frames(1);
    static_cast<void>(app.stage().take_effects());
    app.stage().act(session::CloseDocument{});
    app.frames(1);
    CHECK(app.stage().take_effects().cancel_loading);
    CHECK(!app.state().plan);
    app.open_plan(path);
    app.open(test::lesson());
    app.stage().act(session::CloseDocument{});
    app.frames(3);
    CHECK(!app.state().plan);
    CHECK(app.has_widget("open_path"));
    // And a plan takes the place of a lesson.
    app.open(test::lesson());
    app.open_plan(path);
    CHECK(app.state().document == nullptr);
    CHECK(app.state().runs.empty());
    CHECK(app.has_widget("plan_open"));
}

TEST_CASE("a modelled run is timed on the plan's own hardware, whatever it is called") {
    const Folder folder;
    const auto planned = [&](double slower, const char* name) {
        return session::load_plan(plan_file(folder, 8, 0, 16, slower, name), nullptr, nullptr);
    };
    const auto usual = planned(1, "h100"), mine = planned(10, "mine"), disguised = planned(10, "h100");
    const auto end_of = [](const auto& plan) {
        return session::run_layout(plan, 0, nullptr, nullptr)->modelled.end_ns;
    };
    CHECK(end_of(mine) > 2 * end_of(usual));
    CHECK(end_of(mine) == end_of(disguised));
    const auto document = session::run_layout(mine, 0, nullptr, nullptr);
    CHECK(document->hardware.name == "mine");
    CHECK(session::document_key(*document).empty());
}

TEST_CASE("of many ranks some are run for all, and every view shows them") {
    const Folder folder;
    Window app;
    app.open_plan(plan_file(folder, 128));
    app.stage().act(session::OpenLayout{0});
    app.open_layout();
    REQUIRE(app.state().document);
    const auto& ranks = app.state().document->trace->ranks;
    CHECK(ranks.size() == 128);
    const auto run = std::ranges::count_if(ranks, [](const auto& rank) { return !rank.events.empty(); });
    CHECK(run > 0);
    CHECK(run < 64);
    // The timeline has those alone.
    app.stage().act(session::SetView{view::ViewKind::timeline});
    app.frames(3);
    int64_t last = 0;
    for (std::size_t r = 0; r < ranks.size(); ++r)
        if (!ranks[r].events.empty()) last = static_cast<int64_t>(r);
    CHECK_NOTHROW(app.shape("rank", last));
    CHECK_THROWS(app.shape("rank", 1));
    for (const view::ViewKind kind : view::kViewKinds)
        for (const int32_t rank : {0, 64}) {
            app.stage().act(session::SetView{kind});
            app.stage().act(session::SelectRank{rank});
            app.stage().act(session::SetCursor{app.state().document->modelled.end_ns / 2});
            app.frames(3);
        }
}

TEST_CASE("layouts that do not fit are charted above the line, with what is too large") {
    const Folder folder;
    Window app;
    app.open_plan(plan_file(folder, 8, 2.6e9));
    const Planned& plan = *app.state().plan;
    const std::size_t fits = first_of(plan, true), large = first_of(plan, false);
    CHECK(app.shape("layout", static_cast<int64_t>(large)).y <
          app.shape("layout", static_cast<int64_t>(fits)).y);
    app.stage().act(session::ChooseLayout{large});
    app.stage().tell(true);
    app.frames(2);
    const auto part = estimate::largest_part(plan.layouts[large].estimate->memory);
    const std::string name =
        test::catalogue().text({"estimate.memory." + std::string(part.name), {}}, i18n::Language::en);
    CHECK(app.stage().memory().told.find("the largest part: " + name) != std::string::npos);
}

TEST_CASE("a layout whose base weights have 4 bits says why it has no modelled run") {
    const Folder folder;
    Window app;
    app.open_plan(plan_file(folder, 2, 0, 4));
    CHECK(!app.has_widget("plan_open"));
    const auto run = [&] { return session::run_layout(app.state().plan, 0, nullptr, nullptr); };
    CHECK(test::thrown_id(run) == "plan.no_scenario_4bit");
}

TEST_CASE("a dropped plan is known by what is in it, and is laid beside nothing") {
    const Folder folder;
    const std::string path = plan_file(folder, 2);
    CHECK(session::look_at_drop(path).kind == session::Dropped::Kind::plan);
    CHECK(session::preview(path, {}).inputs == std::vector<std::string>{path});
    CHECK(test::thrown_id([&] { static_cast<void>(session::load_document(path, {}, nullptr)); }) ==
          "app.plan_alone");
    const std::string other = folder.write("other.json", "{\"parameters\": \"llama\"}");
    CHECK(session::look_at_drop(other).kind == session::Dropped::Kind::nothing);
}

TEST_CASE("of a plan's page a picture is exported, and of nothing else is there a film") {
    const Folder folder;
    Window app;
    app.key(window::Key::e, false, true);
    CHECK_FALSE(app.state().export_sheet);  // the welcome page
    app.open_plan(plan_file(folder, 2));
    app.key(window::Key::e, false, true);
    REQUIRE(app.state().export_sheet);
    CHECK(app.state().export_sheet->path == "plan.png");
    app.frames(2);
    app.click(app.widget("export_go"));
    app.frames(1);
    const session::Effects wanted = app.stage().take_effects();
    REQUIRE(wanted.exports.size() == 1);
    CHECK(wanted.exports[0].path == "plan.png");
    for (const char* other : {"plan.svg", "plan.mp4", "plan.html", "plan"}) {
        app.stage().act(session::StartExport{other, false});
        INFO(other);
        CHECK(app.stage().take_effects().exports.empty());
    }
}

TEST_CASE("no text of a plan's page overflows, wide and narrow, in both languages, up to 200 %") {
    const Folder folder;
    Window app;
    app.open_plan(plan_file(folder, 8, 2.6e9));
    const std::size_t large = first_of(*app.state().plan, false);
    for (const auto& [width, height] : {std::pair{1280, 720}, {1920, 1080}, {700, 600}})
        for (const view::Language language : {view::Language::en, view::Language::zh})
            for (const float scale : {1.0F, 1.5F, 2.0F})
                for (const std::size_t layout : {std::size_t{0}, large}) {
                    app.resize(width, height);
                    app.stage().act(session::SetLanguage{language});
                    app.stage().act(session::SetScale{scale});
                    app.stage().act(session::ChooseLayout{layout});
                    app.frames(3);
                    for (const panels::Overflow& o : app.stage().overflows()) {
                        INFO(width << " at " << scale << ", panel " << o.where << ": \"" << o.text
                                   << "\" needs " << o.measured << " of " << o.available);
                        CHECK(o.measured <= o.available);
                    }
                }
}

TEST_CASE("a model's configuration is planned, and what was asked of it is changed on the page") {
    Window app;
    const std::string config = test::golden_folder() + "/model_config/Llama-3.2-1B.json";
    CHECK(session::look_at_drop(config).kind == session::Dropped::Kind::plan);
    app.open_plan(config);
    REQUIRE(app.state().plan);
    const auto asked = [&]() -> const estimate::Question& { return app.state().plan->file.question; };
    CHECK(asked().gpus == 8);
    CHECK(asked().global_batch == 8);
    CHECK(asked().shape.seq == 8192);
    CHECK(asked().profile.name == "h100");
    CHECK_FALSE(app.state().plan->plan.fitting.empty());

    app.click(app.widget("plan_gpus.more"));
    app.change_plan();
    CHECK(asked().gpus == 16);
    CHECK(asked().global_batch == 8);  // what was not pressed stays
    app.click(app.widget("plan_seq.less"));
    app.change_plan();
    CHECK(asked().shape.seq == 4096);
    app.click(app.widget("plan_batch.more"));
    app.change_plan();
    CHECK(asked().global_batch == 16);
    const double before = asked().memory_bytes;
    app.click(app.widget("plan_gpu.more"));
    app.change_plan();
    CHECK(asked().profile.name != "h100");
    CHECK(asked().memory_bytes != before);
    CHECK(asked().gpus == 16);
    CHECK(asked().shape.seq == 4096);
    CHECK(asked().global_batch == 16);
}

TEST_CASE("what a question cannot be is not offered: no GPU, positions that a model has not learned") {
    const Folder folder;
    Window app;
    app.open_plan(plan_file(folder, 1));
    CHECK_FALSE(app.has_widget("plan_gpus.less"));
    CHECK(app.has_widget("plan_gpus.more"));
    app.open_plan(test::golden_folder() + "/model_config/gpt2.json");
    CHECK(app.state().plan->file.question.shape.seq == 1024);
    CHECK_FALSE(app.has_widget("plan_seq.more"));
    CHECK(app.has_widget("plan_seq.less"));
}

TEST_CASE("a configuration that cannot be planned says why") {
    Window app;
    app.session.open(test::golden_folder() + "/model_config/Mixtral-8x7B.json");
    app.stage().act(session::ShowLoading{session::Loading{"Mixtral"}});
    app.wait();
    REQUIRE(app.state().error);
    CHECK(app.state().error->lines.front().find("experts") != std::string::npos);
}
