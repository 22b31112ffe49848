// A broken run is told wherever it is looked at, and exercises leave the lesson one press away and clean.
#include <algorithm>

#include "app/gui/main/state_dump.h"
#include "app/gui/sandbox/what_if.h"
#include "app/gui/session/runner.h"
#include "app/gui/session/sandbox_actions.h"
#include "app/gui/session/session.h"
#include "core/trace/store.h"
#include "harness.h"
#include "tests/folder.h"
#include "tests/test.h"
#include "tests/tree.h"

using namespace meshscope;
using test::Harness;
using view::ViewKind;

namespace {

constexpr int kHigh = 2600;  ///< high enough that nothing is scrolled away

/// What the window's loop does with a request, here and now.
void run_now(Harness& app) {
    const session::Effects effects = app.stage().take_effects();
    REQUIRE(effects.run.has_value());
    const auto document = session::run_text(*effects.run, nullptr, nullptr);
    app.stage().act(session::ShowRunning{});
    app.stage().act(session::RunEnded{*effects.run, document});
    app.frames(3);
}

/// The lesson's exercise "Break it", its first question answered or not: nothing there asks.
int32_t exercise() {
    const auto& steps = test::lesson()->steps;
    const auto found = std::ranges::find(steps, "break", &session::LessonStep::part);
    return static_cast<int32_t>(found - steps.begin());
}

/// "Break it", "Make this change", Run, by pointer.
void break_it(Harness& app) {
    app.open(test::lesson());
    app.stage().act(session::GoToLessonStep{exercise()});
    app.settle();
    app.click(app.widget("make.break"));
    app.click(app.widget("sandbox.at.run"));
    run_now(app);
}

bool has_place(Harness& app, const std::string& kind) {
    const auto& places = app.stage().memory().shapes;
    return std::any_of(places.begin(), places.end(),
                       [&](const auto& place) { return place.id.kind == kind; });
}

std::string told(Harness& app) {
    app.stage().act(session::CopyView{});
    app.frames(2);
    std::string text;
    for (const std::string& copied : app.stage().take_effects().copy) text += copied + "\n";
    return text;
}

std::string sentence(const session::Document& document) {
    return test::catalogue().text(document.end->what, i18n::Language::en);
}

}  // namespace

TEST_CASE("an exercise that kills a rank ends with the engine's sentence, a mark, and the cursor there") {
    Harness app(1280, kHigh);
    break_it(app);
    const auto& document = *app.state().document;
    REQUIRE(document.end);
    CHECK(document.end->what.id == "diagnosis.lost");
    CHECK(document.end->ranks == std::vector<int32_t>{3});
    CHECK(app.state().view == ViewKind::mesh);
    CHECK(app.state().cursor.t_ns ==
          view::broke_off_ns(*document.trace, *session::shown_clock(app.state()), *document.end));
    CHECK(has_place(app, "broke_off"));
    CHECK(has_place(app, "end_show"));
    // In every view, not where one happens to look.
    for (const auto kind : view::kViewKinds) {
        app.stage().act(session::SetView{kind});
        app.settle();
        CHECK(has_place(app, "end_show"));
        CHECK(told(app).find(sentence(document)) != std::string::npos);
    }
    app.stage().act(session::SetView{ViewKind::memory});
    app.stage().act(session::SetCursor{0});
    app.settle();
    app.click(app.shape("end_show", -1));
    CHECK(app.state().view == ViewKind::mesh);
    CHECK(app.state().cursor.t_ns > 0);
    app.click(app.shape("end_fold", -1));
    CHECK_FALSE(has_place(app, "end_show"));
    CHECK(has_place(app, "end_fold"));
    CHECK(gui::state_as_json(app.stage()).find("\"diagnosis.lost\"") != std::string::npos);
}

TEST_CASE("the facts of a broken run lead to each wait, copy the exact words and run it without its fault") {
    Harness app(1280, kHigh);
    break_it(app);
    const auto broken = app.state().document;
    REQUIRE(broken->end);
    REQUIRE(view::is_marked(*broken->end));
    CHECK(has_place(app, "end"));
    const auto& waits = broken->end->waits;
    const auto waiting =
        std::ranges::find(waits.ranks, view::RankEnd::Stands::waiting, &view::RankEnd::stands);
    REQUIRE(waiting != waits.ranks.end());
    const auto rank = static_cast<int32_t>(waiting - waits.ranks.begin());
    app.stage().act(session::SetCursor{0});
    app.settle();
    CHECK_FALSE(has_place(app, "end"));  // before it broke off nothing stands still
    app.click(app.shape("wait", rank));
    CHECK(app.state().selection.event_rank == rank);
    CHECK(app.state().selection.event == waiting->call);
    const time::Clock& clock = *session::shown_clock(app.state());
    CHECK(
        app.state().cursor.t_ns ==
        clock.events.at(static_cast<std::size_t>(rank)).at(static_cast<std::size_t>(waiting->call)).begin_ns);
    app.stage().take_effects();
    app.click(app.shape("end_copy", -1));
    CHECK(app.stage().take_effects().copy == std::vector<std::string>{sentence(*broken)});
    app.click(app.shape("end_rerun", -1));
    run_now(app);
    CHECK(app.state().document == broken);
    REQUIRE(app.state().runs.back() != broken);
    CHECK_FALSE(app.state().runs.back()->end);
    CHECK_FALSE(has_place(app, "end_rerun"));
    app.click(app.shape("end_compare", -1));
    CHECK(app.state().view == ViewKind::compare);
}

TEST_CASE("a record of a killed run opens where it broke off, and says so, and a whole one says nothing") {
    const test::Folder folder;
    const std::string text =
        "format = 1\n[model]\nkind = \"toy\"\nseed = 1\n[train]\nsteps = 3\nglobal_batch = 8\n[mesh]\n"
        "shape = [4]\nnames = [\"replicate\"]\n[parallel]\ndata = \"ddp\"\n";
    const std::string whole = folder.write("whole.toml", text);
    const std::string killed =
        folder.write("killed.toml", text + "[[faults]]\nkind = \"kill\"\nrank = 1\nstep = 1\n");
    const std::string record = folder.file("killed.mscope");
    trace::write_trace(*session::load_document(killed, {}, nullptr)->trace, record);
    Harness app;
    app.open(session::load_document(record, {}, nullptr));
    REQUIRE(app.state().document->end);
    CHECK(app.state().view == ViewKind::mesh);
    CHECK(app.state().cursor.t_ns > 0);
    CHECK(app.state().selection.rank == 1);
    CHECK(has_place(app, "broke_off"));
    CHECK(has_place(app, "end_fold"));
    CHECK(told(app).find(sentence(*app.state().document)) != std::string::npos);
    app.open(session::load_document(whole, {}, nullptr));
    CHECK_FALSE(app.state().document->end);
    CHECK_FALSE(has_place(app, "end_fold"));
}

TEST_CASE("the record of an exercise is not taken for a run of its lesson") {
    const test::Folder folder;
    Harness app(1280, kHigh);
    break_it(app);
    const std::string record = folder.file("broken.mscope");
    trace::write_trace(*app.state().document->trace, record);
    const auto opened = session::load_document(record, {}, nullptr);
    REQUIRE(opened->end);
    CHECK(opened->steps.empty());
    CHECK_FALSE(opened->end_is_taught);
    trace::write_trace(*test::lesson()->trace, record);
    CHECK_FALSE(session::load_document(record, {}, nullptr)->steps.empty());
}

TEST_CASE("a record of a scenario that is gone from a lesson's folder opens, without the lesson") {
    const test::Folder folder;
    folder.write("lesson.en.md", "# Two\n\n## one: One\n\nTwo steps.\n");
    folder.write("lesson.zh.md", "# 二\n\n## one: 一\n\n两步。\n");
    const std::string text =
        "format = 1\n[model]\nkind = \"toy\"\n[train]\nsteps = 2\nglobal_batch = 8\n[mesh]\nshape = [2]\n"
        "[parallel]\ndata = \"fsdp2\"\n[[lesson.step]]\nid = \"one\"\n";
    folder.write("scenario.toml", text);
    const std::string mine = folder.write("mine.toml", text), record = folder.file("record.mscope");
    trace::write_trace(*session::load_document(mine, {}, nullptr)->trace, record);
    std::filesystem::remove(mine);
    CHECK(session::load_document(record, {}, nullptr)->steps.empty());
}

TEST_CASE(
    "a record whose fault waits longer, or turns another bit, than the lesson's is no run of the lesson") {
    const std::string head =
        "format = 1\n[model]\nkind = \"toy\"\n[train]\nsteps = 2\nglobal_batch = 8\n[mesh]\nshape = [2]\n"
        "[parallel]\ndata = \"fsdp2\"\n[[lesson.step]]\nid = \"one\"\n[[faults]]\nrank = 1\nstep = 1\n";
    const auto check = [&](const std::string& recorded, const std::string& other) {
        INFO(recorded);
        const test::Folder folder;
        folder.write("lesson.en.md", "# A fault\n\n## one: Who waits\n\nTwo steps.\n");
        folder.write("lesson.zh.md", "# 故障\n\n## one: 谁在等\n\n两步。\n");
        const std::string scenario = folder.write("scenario.toml", head + recorded);
        const std::string record = folder.file("record.mscope");
        trace::write_trace(*session::load_document(scenario, {}, nullptr)->trace, record);
        CHECK(session::load_document(record, {}, nullptr)->steps.size() == 1);
        folder.write("scenario.toml", head + other);
        CHECK(session::load_document(record, {}, nullptr)->steps.empty());
    };
    check("kind = \"delay\"\nms = 1\n", "kind = \"delay\"\nms = 2\n");
    check("kind = \"corrupt\"\nat = 0\nphase = \"backward\"\nbit = 3\n",
          "kind = \"corrupt\"\nat = 0\nphase = \"backward\"\nbit = 4\n");
}

TEST_CASE("how a lesson's own run ends is told behind the question that asks for it, not before") {
    Harness app;
    app.open(test::lesson("82_skipped"));
    REQUIRE(app.state().document->end);
    CHECK(app.state().document->end_is_taught);
    CHECK(app.state().lesson_step == 0);
    CHECK_FALSE(has_place(app, "end_fold"));
    CHECK(told(app).find(sentence(*app.state().document)) == std::string::npos);
    // Nor is it drawn, whatever one looks at, at the very end. (Calls that never ended are left open: no more
    // is said.)
    for (const auto kind : {ViewKind::mesh, ViewKind::collective, ViewKind::timeline}) {
        app.stage().act(session::SetView{kind});
        app.stage().act(session::JumpTo{true});
        app.settle();
        for (const char* mark : {"end", "torn", "gone", "broke_off"}) CHECK_FALSE(has_place(app, mark));
    }
    for (const auto& quiz : app.state().document->quizzes) {
        app.stage().act(session::Guess{quiz.id, quiz.answer});
        app.stage().act(session::Reveal{quiz.id});
    }
    app.stage().act(session::GoToLessonStep{3});
    app.settle();
    CHECK(has_place(app, "end_fold"));
    CHECK(told(app).find(sentence(*app.state().document)) != std::string::npos);
}

TEST_CASE("no lesson without a fault of its own is told to have ended early") {
    for (const char* folder :
         {"12_device_mesh", "22_ring", "45_checkpoint", "63_hsdp", "75_pipeline", "21_collectives"}) {
        INFO(folder);
        CHECK_FALSE(test::lesson(folder)->end);
    }
}

TEST_CASE("after an exercise the lesson is one press away, at its step, from wherever one is") {
    Harness app(1280, kHigh);
    break_it(app);
    CHECK(app.state().document != test::lesson());
    const auto back = [&] {
        CHECK(app.state().document == test::lesson());
        CHECK(app.state().lesson_step == exercise());
        CHECK_FALSE((app.state().sandbox && app.state().sandbox->open));
    };
    SECTION("beside the sandbox, which is still open") {
        app.click(app.widget("back_to_lesson"));
        back();
    }
    SECTION("after Esc, beside what the run was") {
        app.key(window::Key::escape);
        REQUIRE_FALSE(app.state().sandbox->open);
        app.click(app.widget("back_to_lesson"));
        back();
    }
    SECTION("in the comparison, at the foot") {
        app.key(window::Key::escape);
        app.stage().act(session::SetView{ViewKind::compare});
        app.settle();
        app.click(app.widget("back_to_lesson"));
        back();
        CHECK(app.state().view != ViewKind::compare);
    }
    SECTION("by its name in the comparison") {
        app.key(window::Key::escape);
        app.stage().act(session::SetView{ViewKind::compare});
        app.settle();
        app.click(app.shape("run", 0));
        CHECK(app.state().view == ViewKind::compare);
        back();
        app.click(app.widget("foot_step"));
        CHECK(app.state().view != ViewKind::compare);
        back();
    }
    SECTION("by key") {
        app.key(window::Key::l, false, true);
        back();
    }
}

TEST_CASE("each exercise starts from the lesson's own scenario, whatever was tried before") {
    Harness app(1280, kHigh);
    break_it(app);
    CHECK_FALSE(app.state().sandbox->draft.reading().scenario->faults.empty());
    app.click(app.widget("back_to_lesson"));
    app.click(app.widget("lesson_on"));  // from "Break it" to "Change it"
    app.frames(3);
    app.click(app.widget("make.change"));
    REQUIRE(app.state().sandbox->open);
    const std::string& scenario = test::lesson()->trace->info.scenario;
    const std::string expected = sandbox::changed_text(
        scenario, sandbox::variant_changes(scenario, test::lesson()->trace->info.scenario_path, "change"));
    CHECK(app.state().sandbox->draft.text() == expected);
    CHECK(app.state().sandbox->draft.reading().scenario->faults.empty());
    app.click(app.widget("sandbox.at.run"));
    run_now(app);
    CHECK_FALSE(app.state().document->end);
    // What was edited before is not lost: Undo leads back to it.
    app.stage().act(session::UndoEdit{});
    CHECK(app.state().sandbox->draft.text() == scenario);
    app.stage().act(session::UndoEdit{});
    CHECK_FALSE(app.state().sandbox->draft.reading().scenario->faults.empty());
}

TEST_CASE("the sandbox opens at what the exercise changed, not at its top") {
    Harness app(1280, 720);
    app.open(test::lesson());
    const auto opened_at = [&](const std::string& id, const std::string& field) {
        app.stage().act(session::GoToLessonStep{exercise() + (id == "change" ? 1 : 0)});
        app.settle();
        app.wheel({150, 400}, -40);  // to the end of the step's text
        app.frames(3);
        app.click(app.widget("make." + id));
        app.frames(6);
        REQUIRE(app.state().sandbox->open);
        const float y = app.widget("sandbox.at." + field).y;
        INFO(field << " at " << y);
        CHECK(y > 52 + 60);
        CHECK(y < 720 - 112 - 40);
    };
    opened_at("break", "faults.kind=kill");
    app.stage().act(session::BackToLesson{});
    app.settle();
    opened_at("change", "parallel.reshard_after_forward");
}

TEST_CASE("a guess that was made in the lesson is there when one comes back to it") {
    Harness app(1280, kHigh);
    app.open(test::lesson());
    app.stage().act(session::Guess{"padded-rows", "22"});
    app.stage().act(session::GoToLessonStep{exercise()});
    app.settle();
    app.click(app.widget("make.break"));
    app.click(app.widget("sandbox.at.run"));
    run_now(app);
    app.click(app.widget("back_to_lesson"));
    CHECK(app.state().quizzes.at("padded-rows").guess == "22");
    CHECK_FALSE(app.state().quizzes.at("padded-rows").revealed);
}

TEST_CASE("in one column a run of the sandbox is seen once it has ended: the sandbox stands over it") {
    for (const bool narrow : {true, false}) {
        Harness app(narrow ? 390 : 1280, 844);
        app.open(test::lesson());
        app.stage().act(session::ToggleSandbox{});
        app.frames(3);
        app.stage().act(session::EditSandbox{{{"mesh.shape", "[1, 4]"}}});
        app.frames(3);
        app.click(app.widget("sandbox.at.run"));
        const session::Effects effects = app.stage().take_effects();
        REQUIRE(effects.run.has_value());
        app.stage().act(session::ShowRunning{session::Running{effects.run->name, "", 0, 0, false}});
        app.frames(2);
        CHECK(app.state().sandbox->open);
        app.stage().act(session::ShowRunning{});
        app.stage().act(session::RunEnded{*effects.run, session::run_text(*effects.run, nullptr, nullptr)});
        app.frames(3);
        CHECK(app.state().sandbox->open == !narrow);
    }
}
