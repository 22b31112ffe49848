// Runs side by side in the window: opened together, dropped, named by a scenario; brought to the front,
// closed.
#include <atomic>
#include <chrono>
#include <filesystem>
#include <thread>

#include "app/gui/main/state_dump.h"
#include "app/gui/session/session.h"
#include "core/trace/agreement.h"
#include "harness.h"
#include "tests/folder.h"
#include "tests/test.h"
#include "tests/tree.h"

using namespace meshscope;
using namespace meshscope::session;
using test::Folder;
using test::Harness;

namespace {

std::string scenario_text(const std::string& mesh, const std::string& data, const std::string& more = "") {
    return "format = 1\n[model]\nkind = \"toy\"\nseed = 1\n[train]\nsteps = 2\nglobal_batch = 8\n[mesh]\n" +
           mesh + "[parallel]\ndata = \"" + data + "\"\n" + more;
}

/// DDP, FSDP2 and a scenario that compares itself with both, in files.
struct Files {
    Files() {
        ddp = folder.write("ddp.toml", scenario_text("shape = [4]\nnames = [\"replicate\"]\n", "ddp"));
        fsdp = folder.write("fsdp2.toml", scenario_text("shape = [4]\nnames = [\"shard\"]\n", "fsdp2"));
        hsdp = folder.write("hsdp.toml",
                            scenario_text("shape = [2, 2]\nnames = [\"replicate\", \"shard\"]\n", "fsdp2",
                                          "[compare]\nscenarios = [\"ddp.toml\", \"fsdp2.toml\"]\n"));
    }
    Folder folder;
    std::string ddp, fsdp, hsdp;
};

std::shared_ptr<const Document> load(const std::string& path) {
    return load_document(path, {}, nullptr);
}

/// Everything that a session has to tell until nothing is left to open, applied.
void wait_for(Session& session, AppState& state, std::size_t runs) {
    Effects effects;
    for (int i = 0; i < 1000 && (state.runs.size() < runs || state.loading); ++i) {
        for (const Action& action : session.news(test::catalogue(), i18n::Language::en))
            apply(state, action, effects);
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
}

}  // namespace

TEST_CASE("a scenario's comparison is really run beside it, and the weights that come out agree") {
    const Files files;
    Session session({});
    AppState state;
    session.open(files.hsdp);
    wait_for(session, state, 3);
    REQUIRE(state.runs.size() == 3);
    CHECK(state.document == state.runs[0]);
    CHECK(state.runs[0]->name == "hsdp");
    CHECK(state.runs[1]->name == "ddp");
    CHECK(state.runs[2]->name == "fsdp2");
    CHECK(state.view == view::ViewKind::compare);
    CHECK_FALSE(state.error);
    for (std::size_t i = 1; i < 3; ++i) {
        const auto w = trace::compare_weights(state.runs[0]->trace->info, state.runs[i]->trace->info);
        CHECK(w.all.compared == 165);
        CHECK(w.all.agrees());
    }
}

TEST_CASE("a file is one thing by its relative path, from the home folder and by its whole path") {
    const Files files;
    const std::filesystem::path whole = files.hsdp, folder = whole.parent_path();
    const std::string relative = std::filesystem::relative(whole).string();
    for (const std::string& path : {whole.string(), relative, "~/" + whole.filename().string()}) {
        Session session({{}, folder.string()});
        AppState state;
        session.open(path);
        wait_for(session, state, 1);
        INFO(path);
        REQUIRE(state.document);
        CHECK(state.document->path == whole.string());
        REQUIRE(state.remembered.recent.size() >= 1);
        CHECK(state.remembered.recent.front().path == whole.string());
    }
}

TEST_CASE("a lesson's name means the lesson, also beside a folder of that name") {
    const Folder folder;
    std::filesystem::create_directories(folder.file("hsdp"));
    const std::filesystem::path before = std::filesystem::current_path();
    std::filesystem::current_path(folder.file("hsdp").substr(0, folder.file("hsdp").rfind('/')));
    Session session(LessonFolders{{test::source_root() + "/scenarios"}});
    AppState state;
    session.open("hsdp");
    wait_for(session, state, 1);
    std::filesystem::current_path(before);
    REQUIRE(state.document);
    CHECK(state.document->name == "63_hsdp");
}

TEST_CASE("an opening can be given up by Esc, and so is what waits behind it") {
    const Files files;
    std::string text = scenario_text("shape = [4]\nnames = [\"replicate\"]\n", "ddp");
    // Long enough, and its record no more than this machine's memory.
    text.replace(text.find("steps = 2"), 9, "steps = 200000");
    const std::string path = files.folder.write("long.toml", text);
    Session session({});
    AppState state;
    Effects effects;
    session.open(path);
    session.open_beside({files.ddp});
    const auto news_until = [&](const auto& is_so) {
        for (int i = 0; i < 3000 && !is_so(); ++i) {
            for (const Action& action : session.news(test::catalogue(), i18n::Language::en))
                apply(state, action, effects);
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
        }
        REQUIRE(is_so());
    };
    news_until([&] { return state.error || (state.loading && state.loading->steps_done > 0); });
    if (state.error) FAIL(state.error->lines.at(0));
    CHECK(state.loading->file == path);
    apply(state, ClearSelection{}, effects);  // Esc
    CHECK(effects.cancel_loading);
    session.cancel();
    news_until([&] { return !state.loading; });
    CHECK(state.runs.empty());
    CHECK_FALSE(state.error);
    // Another can be opened at once.
    session.open(files.ddp);
    wait_for(session, state, 1);
    CHECK(state.runs.size() == 1);
}

TEST_CASE(
    "several files at once: the first is opened, the others come beside it, what fails is told, the rest "
    "stays") {
    const Files files;
    AppState state;
    Effects effects;
    for (const std::string& path : {files.ddp, files.fsdp, files.folder.file("none.toml")})
        apply(state, OpenBeside{path}, effects);
    REQUIRE(effects.open == std::vector<std::string>{files.ddp});
    REQUIRE(effects.beside.size() == 2);
    Session session({});
    session.open(effects.open[0]);
    for (const OpenBeside& next : effects.beside) session.open_beside(next);
    for (int i = 0; i < 1000 && !state.error; ++i) {
        for (const Action& action : session.news(test::catalogue(), i18n::Language::en))
            apply(state, action, effects);
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    CHECK(state.error);
    CHECK(state.runs.size() == 2);
    CHECK(state.view == view::ViewKind::compare);
}

TEST_CASE("runs come to the front and are closed, four stand side by side at most") {
    const Files files;
    const auto ddp = load(files.ddp), hsdp = load(files.hsdp);
    AppState state;
    Effects effects;
    const auto act = [&](const Action& action) { apply(state, action, effects); };
    act(ShowDocument{ddp});
    CHECK(state.view == view::ViewKind::mesh);
    act(AddDocument{hsdp, false});
    CHECK(state.view == view::ViewKind::mesh);
    act(SetView{view::ViewKind::compare});
    CHECK(front_run(state) == 0);
    act(SelectInRun{1, {2, 3}});
    CHECK(front_run(state) == 1);
    CHECK(state.document == hsdp);
    CHECK(state.selection.event == 3);
    CHECK(state.selection.rank == 2);
    CHECK(state.view == view::ViewKind::compare);
    CHECK(lane_rank(state, 1) == 2);
    CHECK(lane_rank(state, 0) == 2);  // the rank in focus, in every run that has it
    act(SetLaneRank{0, 5});
    CHECK(lane_rank(state, 0) == 1);  // counted round
    act(SetLaneRank{0, -1});
    CHECK(lane_rank(state, 0) == 3);
    for (int i = 0; i < 2; ++i) act(AddDocument{ddp});
    act(AddDocument{ddp});
    CHECK(state.runs.size() == 4);
    REQUIRE(effects.tell.size() == 1);
    CHECK(effects.tell[0].id == "view.compare.full");
    act(OpenBeside{"more.mscope"});
    CHECK(effects.beside.empty());
    CHECK(effects.tell.size() == 2);
    act(CloseRun{1});
    CHECK(state.runs.size() == 3);
    CHECK(state.document == ddp);
    act(CloseRun{7});
    CHECK(state.runs.size() == 3);
    for (int i = 0; i < 3; ++i) act(CloseRun{0});
    CHECK(state.runs.empty());
    CHECK_FALSE(state.document);
    act(ShowDocument{hsdp});
    CHECK(state.runs.size() == 1);
}

TEST_CASE(
    "the comparison by pointer: another rank's lanes, a bar of another run, closing, and what is copied") {
    const Files files;
    Harness app(1600, 1000);
    app.open(load(files.ddp));
    app.stage().act(AddDocument{load(files.hsdp)});
    app.frames(3);
    CHECK(app.state().view == view::ViewKind::compare);
    app.click(app.shape("lane_more", 1));
    CHECK(lane_rank(app.state(), 1) == 1);
    app.click(app.shape("lane_more", 0));
    CHECK(app.state().selection.rank == 1);
    app.click(app.shape("clock", static_cast<int64_t>(time::ClockKind::measured)));
    CHECK(app.state().clock == time::ClockKind::measured);
    app.click(app.shape("clock", static_cast<int64_t>(time::ClockKind::modelled)));
    app.click(app.widget("copy_facts"));
    const auto copied = app.stage().take_effects().copy;
    REQUIRE(copied.size() == 1);
    CHECK(copied[0].find("2 runs side by side") != std::string::npos);
    CHECK(copied[0].find("step time:") != std::string::npos);
    CHECK(copied[0].find("have the same bits") != std::string::npos);
    CHECK(gui::state_as_json(app.stage()).find("\"runs\"") != std::string::npos);
    // A bar of the other run brings it to the front with the event selected.
    int64_t event = -1;
    for (const auto& place : app.stage().memory().shapes)
        if (place.id.kind == "run_event" && place.id.a == 1 && place.box.w > 12) event = place.id.b;
    REQUIRE(event >= 0);
    app.click(app.shape("run_event", 1, event));
    CHECK(front_run(app.state()) == 1);
    CHECK(app.state().selection.event == event);
    app.frames(2);
    app.click(app.shape("close_run", 0));
    CHECK(app.state().runs.size() == 1);
    app.frames(2);
    CHECK(app.stage().overflows().empty());
}

TEST_CASE("one run alone: the same scenario under another strategy is a press away, and is really run") {
    const Files files;
    Harness app;
    app.open(load(files.ddp));
    REQUIRE_FALSE(app.state().document->strategies.empty());
    CHECK(app.state().document->strategies[0] == "fsdp2");
    app.stage().act(SetView{view::ViewKind::compare});
    app.frames(3);
    app.click(app.widget("strategy0"));
    const auto effects = app.stage().take_effects();
    REQUIRE(effects.beside.size() == 1);
    CHECK(effects.beside[0].strategy == "fsdp2");
    Session session({});
    AppState state;
    Effects ignored;
    apply(state, ShowDocument{app.state().document}, ignored);
    session.open_beside(effects.beside[0]);
    wait_for(session, state, 2);
    REQUIRE(state.runs.size() == 2);
    CHECK(state.runs[1]->name == "fsdp2");
    CHECK(state.view == view::ViewKind::compare);
    CHECK(trace::compare_weights(state.runs[0]->trace->info, state.runs[1]->trace->info).all.agrees());
}

TEST_CASE("a scenario's compared strategies are really run beside it") {
    const Files files;
    const std::string path = files.folder.write(
        "two.toml", scenario_text("shape = [4]\nnames = [\"replicate\"]\n", "ddp",
                                  "[compare]\nstrategies = [\"hsdp\"]\nscenarios = [\"fsdp2.toml\"]\n"));
    Session session({});
    AppState state;
    session.open(path);
    wait_for(session, state, 3);
    REQUIRE(state.runs.size() == 3);
    CHECK(state.runs[1]->name == "hsdp");
    CHECK(state.runs[1]->trace->info.mesh_shape == std::vector<int64_t>{2, 2});
    CHECK(state.runs[2]->name == "fsdp2");
}

TEST_CASE("the comparison and the facts of Code and why are reached by Tab and pressed by Enter") {
    const Files files;
    Harness app(1600, 1000);
    app.open(load(files.ddp));
    app.stage().act(AddDocument{load(files.hsdp)});
    app.frames(3);
    const auto reach = [&](const std::string& id) {
        for (int i = 0; i < 80 && app.stage().memory().focus != id; ++i) app.key(window::Key::tab);
        REQUIRE(app.stage().memory().focus == id);
        app.key(window::Key::enter);
        app.frames(2);
    };
    reach("lane_more.1.-1");
    CHECK(lane_rank(app.state(), 1) == 1);
    reach("run.1.-1");
    CHECK(front_run(app.state()) == 1);
    reach("close_run.0.-1");
    CHECK(app.state().runs.size() == 1);
    app.stage().act(SetView{view::ViewKind::code});
    app.stage().act(SetCursor{app.state().document->modelled.end_ns / 2});
    app.frames(3);
    std::string event;
    for (const std::string& id : app.stage().memory().order)
        if (id.starts_with("event.0.")) event = id;
    REQUIRE_FALSE(event.empty());
    reach(event);
    CHECK(app.state().selection.event == std::stoi(event.substr(8)));
}

TEST_CASE("one run alone: a lesson can be laid beside it from the comparison itself") {
    const Files files;
    Harness app;
    app.open(load(files.ddp));
    LessonCard offer;
    offer.id = "scenarios/x/scenario.toml";
    offer.title = {"HSDP", "HSDP"};
    app.stage().act(OfferLessons{{offer}});
    app.key(window::Key::digit7);
    CHECK(app.state().view == view::ViewKind::compare);
    app.frames(3);
    app.click(app.widget("beside0"));
    const auto effects = app.stage().take_effects();
    REQUIRE(effects.beside.size() == 1);
    CHECK(effects.beside[0].path == offer.id);
    app.key(window::Key::digit8);
    CHECK(app.state().view == view::ViewKind::code);
}

TEST_CASE("Code and why: a click on an event of the same rule selects it, one on the place copies it") {
    Harness app(1600, 1000);
    app.open(test::lesson());
    app.stage().act(SetView{view::ViewKind::code});
    int32_t event = -1;
    for (const auto& e : test::lesson()->trace->ranks[0].events)
        if (test::lesson()->trace->text(e.rule) == "fsdp2.unshard.forward" && event < 0) event = e.id;
    app.stage().act(SelectEvent{{0, event}, true});
    app.frames(3);
    int64_t other = -1;
    for (const auto& place : app.stage().memory().shapes)
        if (place.id.kind == "event" && place.id.b > event &&
            test::lesson()->trace->text(
                test::lesson()->trace->event(0, static_cast<int32_t>(place.id.b)).rule) ==
                "fsdp2.unshard.forward")
            other = place.id.b;
    REQUIRE(other > event);
    app.click(app.shape("event", 0, other));
    CHECK(app.state().selection.event == other);
    app.frames(2);
    app.click(app.shape("source", -1));
    const auto copied = app.stage().take_effects().copy;
    REQUIRE(copied.size() == 1);
    CHECK(copied[0].starts_with("core/parallel/fsdp2/"));
    app.click(app.widget("copy_facts"));
    const auto text = app.stage().take_effects().copy;
    REQUIRE(text.size() == 1);
    CHECK(text[0].find("fsdp2.unshard.forward") != std::string::npos);
    CHECK(text[0].find("> ") != std::string::npos);  // the lines of the statement
}

TEST_CASE("a lesson's step shows the variants that it tells of, beside the lesson's words and run") {
    const auto lesson = test::lesson("22_ring");
    const auto at = std::ranges::find(lesson->steps, "limit", &session::LessonStep::id);
    REQUIRE(at != lesson->steps.end());
    REQUIRE(at->beside.size() == 2);
    test::Harness app;
    app.open(lesson);
    app.stage().act(session::GoToLessonStep{static_cast<int32_t>(at - lesson->steps.begin())});
    app.settle();
    CHECK(app.state().view == view::ViewKind::compare);
    CHECK(app.state().runs.size() == 1);  // they are the step's, not open beside it
    CHECK(app.has_widget("lesson_on"));
    for (const int64_t run : {0, 1, 2}) CHECK_NOTHROW(app.shape("run", run));
    // Another step, and they are gone.
    app.stage().act(session::GoToLessonStep{0});
    app.stage().act(session::SetView{view::ViewKind::compare});
    app.settle();
    CHECK_THROWS(app.shape("run", 1));
}
