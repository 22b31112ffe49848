// Moves of a pipeline's blocks undone and redone, and what stays open beside them.
#include <algorithm>
#include <string>
#include <vector>

#include "app/gui/session/moved_block.h"
#include "moving.h"
#include "tests/test.h"

using namespace meshscope;
using namespace meshscope::test;

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

TEST_CASE("a move is undone however many have been made since: only the records' bytes are bounded") {
    const auto run = pipeline_run();
    const int64_t each = session::kept_bytes(*run);
    CHECK(each > int64_t{1} << 16);
    CHECK(40 * each < session::kMostMovedBytes);
    session::MovedRuns moved;
    for (int i = 0; i < 41; ++i) moved.made.push_back(std::make_shared<session::Document>(*run));
    const auto first = moved.made.front(), latest = moved.made.back();
    session::keep_within(moved, 40 * each);
    CHECK(moved.made.size() == 41);
    session::keep_within(moved, 10 * each);
    CHECK(moved.made.size() == 11);
    session::keep_within(moved, 0);
    CHECK(moved.made == std::vector{first, latest});
}

TEST_CASE("a run that was brought to the front beside the one made of it begins a history of its own") {
    Harness app(1600, 900);
    const auto before = show_grid(app);
    app.stage().act(session::MoveBlock{{3, 1, 2}});
    const auto first = answer(app);
    app.stage().act(session::BringToFront{0});
    REQUIRE(app.state().document == before);
    CHECK_FALSE(session::place_in_history(app.state()));
    CHECK(session::open_moved(app.state()) == 1U);
    CHECK_FALSE(session::can_undo_move(app.state()));
    CHECK_FALSE(session::can_redo_move(app.state()));
    app.stage().act(session::SetCursor{step_grid(*before)->lanes[0].blocks[0].at.begin_ns});
    app.stage().act(session::MoveBlock{{3, 3, 4}});
    const auto second = answer(app);
    CHECK(app.state().moved->made == std::vector{before, second});
    CHECK(app.state().runs == std::vector{before, first, second});
    app.stage().act(session::UndoEdit{});
    CHECK(app.state().document == before);
    CHECK(app.state().runs == std::vector{before, first});
    app.stage().act(session::RedoEdit{});
    CHECK(app.state().document == second);
    // The one from before is moved on from where it is.
    app.stage().act(session::BringToFront{1});
    REQUIRE(app.state().document == first);
    CHECK_FALSE(session::can_undo_move(app.state()));
}

TEST_CASE("a lesson stays open, and its own run in reach, when blocks of its grid are moved") {
    Harness app(1600, 900);
    app.open(pipeline_run());
    const auto lesson = app.state().document;
    const auto& steps = lesson->steps;
    const auto step = std::ranges::find(steps, "order", &session::LessonStep::id) - steps.begin();
    app.stage().act(session::GoToLessonStep{static_cast<int32_t>(step)});
    for (const session::QuizCard& quiz : lesson->quizzes) {
        app.stage().act(session::Guess{quiz.id, "1"});
        app.stage().act(session::Reveal{quiz.id});
    }
    app.settle();
    REQUIRE(app.state().document == lesson);
    // As many runs as can stand there, the lesson last.
    app.stage().act(session::AddDocument{run_changed({}), false});
    app.stage().act(session::AddDocument{run_changed({}), false});
    app.stage().act(session::MoveBlock{{3, 1, 2}});
    const auto moved = answer(app);
    CHECK(app.state().document == moved);
    CHECK(std::ranges::count(app.state().runs, lesson) == 1);
    app.stage().act(session::BringToFront{1});
    app.stage().act(session::AskWhatIf{"another", {{"train.steps", "3"}}});
    answer(app);
    CHECK(std::ranges::count(app.state().runs, lesson) == 1);
    app.stage().act(session::BackToLesson{});
    CHECK(app.state().document == lesson);
    CHECK(app.state().lesson_step == step);
}

TEST_CASE("a block of a variant's run that a step shows is moved, and taken back into the same lesson") {
    Harness app(1600, 900);
    const auto lesson = std::make_shared<session::Document>(*pipeline_run());
    lesson->quizzes.clear();
    constexpr int32_t kStep = 2;
    lesson->steps[kStep].run = run_changed({{"parallel.schedule", "\"GPipe\""}});
    app.open(lesson);
    app.stage().act(session::GoToLessonStep{kStep});
    const auto variant = app.state().document;
    REQUIRE(variant->lesson == lesson);
    app.stage().act(session::MoveBlock{{1, 0, 1}});
    const auto moved = answer(app);
    REQUIRE(app.state().runs == std::vector{variant, moved});
    // The lesson goes on at another step, with its own run in the variant's place.
    app.stage().act(session::BackToLesson{});
    app.stage().act(session::GoToLessonStep{0});
    REQUIRE(app.state().document == lesson);
    app.stage().act(session::BringToFront{1});
    app.stage().act(session::UndoEdit{});
    CHECK(app.state().document == variant);
    CHECK(app.state().runs == std::vector{variant});
    app.stage().act(session::ShowRunOfStep{false});
    CHECK(app.state().document == lesson);
}

TEST_CASE("the lesson makes room for no other run, wherever it stands") {
    Harness app;
    app.open(run_changed({}));
    app.stage().act(session::AddDocument{run_changed({}), false});
    app.stage().act(session::AddDocument{run_changed({}), false});
    app.stage().act(session::AddDocument{pipeline_run(), false});
    const auto lesson = app.state().runs.back();
    app.stage().act(session::SetView{view::ViewKind::timeline});
    app.stage().act(session::MoveBlock{{3, 1, 2}});
    const auto moved = answer(app);
    REQUIRE(app.state().runs.size() == session::kMostRuns);
    CHECK(std::ranges::count(app.state().runs, lesson) == 1);
    CHECK(app.state().document == moved);
}

TEST_CASE("the schedule's own order is offered where the run has another") {
    Harness app(1600, 900);
    const auto before = show_grid(app);
    CHECK_FALSE(session::can_ask_usual_order(app.state()));
    app.stage().act(session::MoveBlock{{3, 1, 2}});
    const auto moved = answer(app);
    CHECK(session::can_ask_usual_order(app.state()));
    // Written out in the scenario it is the schedule's all the same.
    const auto& rows = before->order->rows();
    std::string text;
    for (const auto& row : rows) {
        std::string line;
        for (const std::string& action : row) line += (line.empty() ? "" : ", ") + action;
        text += (text.empty() ? "[\"" : ", \"") + line + '"';
    }
    const auto told = run_changed({{"parallel.schedule_order", text + "]"}});
    CHECK(told->order->rows() == rows);
    CHECK_FALSE(told->order->own());
    app.open(told);
    CHECK_FALSE(session::can_ask_usual_order(app.state()));
}

TEST_CASE("halves that a schedule has apart are moved one by one, each a step of undo") {
    Harness app(1600, 900);
    const auto run = run_changed({{"parallel.schedule", "\"InterleavedZeroBubble\""}});
    app.open(run);
    app.stage().act(session::SetCursor{step_grid(*run)->lanes[0].blocks[0].at.begin_ns});
    const auto grid = session::movable_grid(app.state());
    REQUIRE(grid);
    for (const std::vector<std::size_t>& lane : grid->actions)
        for (std::size_t b = 1; b < lane.size(); ++b) REQUIRE(lane[b] != lane[b - 1]);
    // The first weight gradient that may come later.
    std::optional<session::BlockMove> move;
    const auto& blocks = grid->grid->lanes[1].blocks;
    for (std::size_t b = 0; b < blocks.size() && !move; ++b) {
        const session::BlockMove later{1, b, grid->own_place(1, b) + 1};
        if (blocks[b].kind == view::BlockKind::weight_grad &&
            session::try_move(app.state(), *grid, later).asks)
            move = later;
    }
    REQUIRE(move);
    app.stage().take_effects();
    app.stage().act(session::MoveBlock{*move});
    const auto moved = answer(app);
    CHECK(app.state().document == moved);
    app.stage().act(session::UndoEdit{});
    CHECK(app.state().document == run);
    CHECK_FALSE(session::can_undo_move(app.state()));
}
