// A block of a pipeline's grid is dragged to another place: checked where it is dropped, and really run.
#include <algorithm>
#include <string>
#include <vector>

#include "app/gui/sandbox/pipeline_order.h"
#include "app/gui/session/moved_block.h"
#include "app/gui/session/runner.h"
#include "app/gui/session/sandbox_actions.h"
#include "app/gui/view/pipeline_actions.h"
#include "app/gui/view/pipeline_marks.h"
#include "harness.h"
#include "tests/test.h"

using namespace meshscope;
using test::Harness;

namespace {

std::shared_ptr<const session::Document> pipeline_run() {
    return test::lesson("75_pipeline");
}

/// The lesson's pipeline with some keys changed, without its lesson.
std::shared_ptr<const session::Document> run_changed(const std::vector<sandbox::Change>& changes) {
    const session::Document& run = *pipeline_run();
    session::RunRequest request;
    request.text = sandbox::changed_text(session::scenario_text(run), changes);
    request.path = run.trace->info.scenario_path;
    request.name = "changed";
    return session::run_text(request, {}, nullptr);
}

std::shared_ptr<const view::PipelineGrid> step_grid(const session::Document& run) {
    return view::pipeline_grid(*run.trace, run.modelled, 0, 1);
}

/// "F0 B0 F1 …" of a rank in step 1.
std::string order_of(const session::Document& run, std::size_t lane) {
    std::string text;
    const auto grid = step_grid(run);
    for (const view::PipelineBlock& block : grid->lanes[lane].blocks)
        text += (text.empty() ? "" : " ") + std::string(view::block_letter(block.kind)) +
                std::to_string(block.microbatch);
    return text;
}

/// A run of that text as the window's outside makes it, told to the window.
std::shared_ptr<const session::Document> answer(Harness& app) {
    auto effects = app.stage().take_effects();
    REQUIRE(effects.run);
    const auto run = session::run_text(*effects.run, {}, nullptr);
    app.stage().act(session::ShowRunning{});
    app.stage().act(session::RunEnded{*effects.run, run});
    app.frames(3);
    return run;
}

/// The lesson's run without its steps, so that no question is open: its grid in step 1.
std::shared_ptr<const session::Document> show_grid(Harness& app) {
    static const auto run = run_changed({});
    app.open(run);
    app.stage().act(session::SetView{view::ViewKind::timeline});
    app.stage().act(session::SetForm{view::Form::grid});
    app.stage().act(session::SetCursor{step_grid(*run)->lanes[0].blocks[0].at.begin_ns});
    app.frames(3);
    return run;
}

view::Point middle(const Harness& app, std::size_t lane, std::size_t block) {
    const auto grid = step_grid(*app.state().document);
    const view::PipelineLane& of = grid->lanes[lane];
    return app.shape("event", of.rank, of.blocks[block].first);
}

bool tells(Harness& app, const std::string& words) {
    std::vector<panels::Drawn> drawn;
    app.stage().note_pictures(&drawn);
    app.frames(1);
    app.stage().note_pictures(nullptr);
    for (const panels::Drawn& each : drawn)
        for (const view::Shape& shape : each.picture.shapes)
            if (shape.text.find(words) != std::string::npos) return true;
    return false;
}

}  // namespace

TEST_CASE("blocks of every schedule's grid are the actions that it was to run") {
    for (const char* schedule : {"GPipe", "1F1B", "Interleaved1F1B", "LoopedBFS", "InterleavedZeroBubble",
                                 "ZBVZeroBubble", "DualPipeV"}) {
        CAPTURE(schedule);
        const auto run =
            run_changed({{"parallel.schedule", '"' + std::string(schedule) + '"'}, {"model.layers", "8"}});
        REQUIRE(run->order);
        CHECK_FALSE(run->order->own());
        const auto grid = step_grid(*run);
        REQUIRE(grid->lanes.size() == run->order->rows().size());
        for (std::size_t lane = 0; lane < grid->lanes.size(); ++lane) {
            const auto& row = run->order->rows()[lane];
            const auto actions = view::actions_of(grid->lanes[lane], row);
            REQUIRE(actions);
            CHECK(std::ranges::is_sorted(*actions));
            for (std::size_t b = 0; b < actions->size(); ++b)
                CHECK(row[(*actions)[b]].ends_with(std::to_string(grid->lanes[lane].blocks[b].microbatch)));
            auto other = row;
            std::swap(other.front(), other.back());
            CHECK_FALSE(view::actions_of(grid->lanes[lane], other));
        }
    }
}

TEST_CASE("a block that is dragged to a place where it can stand is run there, undone, redone and saved") {
    Harness app(1600, 900);
    const auto before = show_grid(app);
    const view::Point from = middle(app, 3, 1), behind = middle(app, 3, 2);  // B0 behind F1
    app.stage().take_effects();
    app.drag(from, {behind.x + 6, behind.y});
    CHECK(app.state().running);
    const auto run = answer(app);
    CHECK(order_of(*run, 3).starts_with("F0 F1 B0 B1"));
    CHECK(order_of(*run, 0) == order_of(*before, 0));
    CHECK(run->order->own());
    CHECK(app.state().document == run);
    CHECK(app.state().view == view::ViewKind::timeline);
    CHECK(app.state().forms.in(view::Form::grid));
    CHECK(app.stage().overflows().empty());
    // The block stays selected: the keyboard can take it on.
    REQUIRE(app.state().selection.event);
    CHECK(*app.state().selection.event == step_grid(*run)->lanes[3].blocks[2].first);
    // What is saved from the sandbox has the order.
    app.stage().act(session::ToggleSandbox{});
    REQUIRE(app.state().sandbox);
    CHECK(app.state().sandbox->draft.text().find("\"3F0, 3F1, 3B0, 3B1, ") != std::string::npos);
    app.stage().act(session::ToggleSandbox{});
    // Back and forth by keys, and by the buttons in the grid.
    app.key(window::Key::z, false, true);
    app.frames(3);
    CHECK(app.state().document == before);
    CHECK(app.state().runs.size() == 1);
    app.key(window::Key::z, true, true);
    app.frames(3);
    CHECK(app.state().document == run);
    app.click(app.shape("usual_order", -1));
    app.frames(3);
    CHECK(app.state().document == before);
    CHECK_FALSE(app.stage().take_effects().run);  // it was run before
}

TEST_CASE("a block moved again takes the place of the run that it came of, and each move can be undone") {
    Harness app(1600, 900);
    const auto before = show_grid(app);
    app.stage().act(session::MoveBlock{{3, 1, 2}});
    const auto first = answer(app);
    app.stage().act(session::MoveBlock{{3, 2, 3}});
    const auto second = answer(app);
    CHECK(order_of(*second, 3).starts_with("F0 F1 B1 B0 F2"));
    CHECK(app.state().runs == std::vector<std::shared_ptr<const session::Document>>{before, second});
    CHECK(second->name == first->name);
    app.stage().act(session::UndoEdit{});
    CHECK(app.state().document == first);
    CHECK(app.state().runs == std::vector<std::shared_ptr<const session::Document>>{before, first});
    app.stage().act(session::UndoEdit{});
    CHECK(app.state().document == before);
    app.stage().act(session::RedoEdit{});
    app.stage().act(session::RedoEdit{});
    CHECK(app.state().document == second);
    app.stage().act(session::RedoEdit{});
    CHECK(app.state().document == second);
}

TEST_CASE("a block that cannot stand where it is dropped changes nothing, and it is said why") {
    Harness app(1600, 900);
    const auto before = show_grid(app);
    const view::Point backward = middle(app, 3, 1), forward = middle(app, 3, 0);
    app.stage().take_effects();
    for (const auto language : {view::Language::en, view::Language::zh}) {
        app.stage().act(session::SetLanguage{language});
        app.drag(backward, {forward.x - 30, forward.y});
        CHECK_FALSE(app.stage().take_effects().run);
        app.frames(2);
        REQUIRE(app.state().refused_move);
        CHECK(tells(app, "3B0"));
        CHECK(app.stage().overflows().empty());
    }
    CHECK(app.state().document == before);
    app.key(window::Key::escape);
    app.frames(1);
    CHECK_FALSE(app.state().refused_move);
    // Dropped where it was, it is only chosen.
    app.drag(backward, {backward.x + 8, backward.y});
    CHECK_FALSE(app.stage().take_effects().run);
}

TEST_CASE("a move that would deadlock is not run: who would wait for whom is told of each rank") {
    Harness app(1600, 900);
    const auto run = show_grid(app);
    const auto grid = session::movable_grid(app.state());
    REQUIRE(grid);
    // Rank 0's first backward before its second forward, which rank 1 has before its own first backward.
    CHECK_FALSE(session::try_move(app.state(), *grid, {0, 4, 1}).asks);
    // Rank 3's first backward behind all its forwards: rank 0 sends the fifth only after its first backward.
    const session::BlockMove move{3, 1, 8};
    const auto tried = session::try_move(app.state(), *grid, move);
    CHECK_FALSE(tried.asks);
    REQUIRE(tried.refusal.message.id == "pipeline.deadlock");
    const auto& circle = tried.refusal.circle;
    REQUIRE(circle.size() >= 2);
    for (std::size_t i = 0; i < circle.size(); ++i) {
        CHECK(circle[i].other == circle[(i + 1) % circle.size()].row);
        CHECK(session::block_of(app.state(), *grid, circle[i].row, circle[i].action));
        CHECK(session::block_of(app.state(), *grid, circle[i].other, circle[i].waits_for));
    }
    app.stage().take_effects();
    app.stage().act(session::MoveBlock{move});
    app.frames(2);
    CHECK_FALSE(app.stage().take_effects().run);
    CHECK(tells(app, test::catalogue().text(Message{"view.pipeline.circle", {}}, i18n::Language::en)));
    CHECK(app.stage().overflows().empty());
}

TEST_CASE("the keyboard takes the selected block to the nearest place where ranks can work so") {
    Harness app(1600, 900);
    const auto run = show_grid(app);
    const auto lane = step_grid(*run)->lanes[3];
    app.stage().act(session::SelectEvent{{lane.rank, lane.blocks[1].first}, false});
    app.stage().take_effects();
    app.key(window::Key::right, true, true);
    const auto later = answer(app);
    CHECK(order_of(*later, 3).starts_with("F0 F1 B0 B1"));
    app.key(window::Key::left, true, true);
    CHECK(order_of(*answer(app), 3) == order_of(*run, 3));
    app.key(window::Key::left, true, true);  // before its own forward
    CHECK_FALSE(app.stage().take_effects().run);
    CHECK(app.state().refused_move);
}

TEST_CASE("blocks stay where they are while a lesson's question is open, and where nothing was run") {
    Harness app(1600, 900);
    app.open(pipeline_run());
    REQUIRE(session::open_question(app.state()) != nullptr);
    CHECK(session::movable_grid(app.state()) == nullptr);
}

TEST_CASE("the schedule's own order is said by no key, another one by one") {
    const auto& order = *pipeline_run()->order;
    CHECK(order.changes_to(order.usual()).front().value.empty());
    auto rows = sandbox::moved(order.rows(), 3, 1, 3);
    CHECK(rows[3][2] == "3B0");
    CHECK(order.changes_to(rows).front().key == "parallel.schedule_order");
    CHECK(sandbox::moved(rows, 3, 2, 1) == order.rows());
}
