// A block of a pipeline's grid is dragged to another place: checked where it is dropped, and really run.
#include <algorithm>
#include <string>
#include <vector>

#include "app/gui/main/exporter.h"
#include "app/gui/panels/grid_boxes.h"
#include "app/gui/sandbox/pipeline_order.h"
#include "app/gui/session/block_actions.h"
#include "app/gui/session/moved_block.h"
#include "app/gui/session/sandbox_actions.h"
#include "moving.h"
#include "tests/folder.h"
#include "tests/test.h"

using namespace meshscope;
using namespace meshscope::test;

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
            const auto actions = session::actions_of(grid->lanes[lane], run->order->parts()[lane]);
            REQUIRE(actions);
            CHECK(std::ranges::is_sorted(*actions));
            for (std::size_t b = 0; b < actions->size(); ++b)
                CHECK(row[(*actions)[b]].ends_with(std::to_string(grid->lanes[lane].blocks[b].microbatch)));
            auto other = row;
            std::swap(other.front(), other.back());
            CHECK_FALSE(session::actions_of(grid->lanes[lane], sandbox::parts_of_row(other)));
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
    CHECK_FALSE(session::movable_grid(app.state()));
}

TEST_CASE("the schedule's own order is said by no key, another one by one") {
    const auto& order = *pipeline_run()->order;
    CHECK(order.changes_to(order.usual()).front().value.empty());
    auto rows = sandbox::moved(order.rows(), 3, 1, 3);
    CHECK(rows[3][2] == "3B0");
    CHECK(order.changes_to(rows).front().key == "parallel.schedule_order");
    CHECK(sandbox::moved(rows, 3, 2, 1) == order.rows());
}

TEST_CASE("blocks stay where they are while the sandbox is open, and in what is exported") {
    Harness app(1600, 900);
    show_grid(app);
    app.stage().act(session::MoveBlock{{3, 1, 2}});
    const auto moved = answer(app);
    REQUIRE(session::movable_grid(app.state()));
    REQUIRE(session::can_undo_move(app.state()));
    app.stage().act(session::ToggleSandbox{});
    CHECK_FALSE(session::movable_grid(app.state()));
    CHECK_FALSE(session::can_undo_move(app.state()));
    CHECK_FALSE(session::can_ask_usual_order(app.state()));
    app.stage().act(session::MoveBlock{{3, 2, 3}});
    CHECK_FALSE(app.stage().take_effects().run);
    app.stage().act(session::UndoEdit{});  // the sandbox's, which has none
    CHECK(app.state().document == moved);
    app.stage().act(session::ToggleSandbox{});
    CHECK(session::can_undo_move(app.state()));
    session::AppState exported = app.state();
    exported.uncovered = true;
    CHECK_FALSE(session::movable_grid(exported));
}

TEST_CASE("a backward whose halves are two blocks goes as one, wherever it is taken") {
    Harness app(1600, 900);
    show_grid(app);
    // As if the record had B0 of rank 3 (F0 B0 F1 B1 …) in its halves, which it works through one after the
    // other.
    auto grid = session::movable_grid(app.state());
    REQUIRE(grid);
    auto& lane = grid->actions[3];
    const auto whole = *grid;
    lane.insert(lane.begin() + 1, lane[1]);
    REQUIRE(grid->are_one(3, 1, 2));
    CHECK(grid->others(3, 1) == whole.others(3, 1));
    for (const std::size_t half : {std::size_t{1}, std::size_t{2}}) {
        CHECK(grid->own_place(3, half) == 1);
        for (std::size_t to = 0; to <= grid->others(3, half); ++to) {
            CAPTURE(half, to);
            const auto moved = session::try_move(app.state(), *grid, {3, half, to}),
                       as_whole = session::try_move(app.state(), whole, {3, 1, to});
            REQUIRE(moved.asks.has_value() == as_whole.asks.has_value());
            CHECK(moved.refusal.message.id == as_whole.refusal.message.id);
            if (moved.asks) CHECK(moved.asks->changes.front().value == as_whole.asks->changes.front().value);
        }
    }
}

TEST_CASE("Escape gives a dragged block up, and far from its row it is let go for nothing") {
    Harness app(1600, 900);
    const auto run = show_grid(app);
    const view::Point from = middle(app, 3, 1), behind = middle(app, 3, 2), above = middle(app, 1, 2);
    app.stage().take_effects();
    app.hold(from, {behind.x + 6, behind.y});
    CHECK(tells(app, test::catalogue().text(Message{"view.pipeline.drop", {}}, i18n::Language::en)));
    app.key(window::Key::escape);
    CHECK_FALSE(tells(app, test::catalogue().text(Message{"view.pipeline.drop", {}}, i18n::Language::en)));
    app.release();
    CHECK_FALSE(app.stage().take_effects().run);
    CHECK_FALSE(app.state().selection.event);  // nor was it a click
    app.drag(from, {behind.x + 6, above.y});
    CHECK_FALSE(app.stage().take_effects().run);
    CHECK_FALSE(app.state().refused_move);
    CHECK_FALSE(app.state().selection.event);
    // Back where it was it is selected, and nothing runs.
    const int64_t t_ns = app.state().cursor.t_ns;
    app.drag(from, {from.x + 7, from.y});
    CHECK_FALSE(app.stage().take_effects().run);
    REQUIRE(app.state().selection.event);
    CHECK(*app.state().selection.event == step_grid(*run)->lanes[3].blocks[1].first);
    CHECK(app.state().cursor.t_ns == t_ns);
    // The next one is a drag as any other.
    app.drag(from, {behind.x + 6, behind.y});
    CHECK(app.stage().take_effects().run);
}

TEST_CASE("playing stops when a block is moved") {
    Harness app(1600, 900);
    const auto lane = step_grid(*show_grid(app))->lanes[3];
    app.stage().act(session::TogglePlay{});
    REQUIRE(app.state().playing);
    app.stage().act(session::MoveBlock{{3, 1, 2}});
    CHECK_FALSE(app.state().playing);
    app.stage().act(session::ShowRunning{});
    app.stage().act(session::TogglePlay{});
    app.stage().act(session::SelectEvent{{lane.rank, lane.blocks[1].first}, false});
    app.stage().act(session::NudgeBlock{1});
    CHECK_FALSE(app.state().playing);
}

TEST_CASE("why a block cannot stand there is told to those who have it read to them, and in no export") {
    Harness app(1600, 900);
    show_grid(app);
    app.stage().tell(true);
    app.frames(1);
    const std::string why = test::catalogue().text(Message{"view.pipeline.circle", {}}, i18n::Language::en);
    CHECK(app.stage().memory().told.find(why) == std::string::npos);
    app.stage().act(session::MoveBlock{{3, 1, 8}});
    app.frames(1);
    REQUIRE(app.state().refused_move);
    const std::string told = app.stage().memory().told;
    CHECK(told.find(why) != std::string::npos);
    CHECK(told.find("3B0") != std::string::npos);
    const test::Folder folder;
    gui::ExportJob job;
    job.path = folder.file("grid.svg");
    job.state = app.state();
    {
        gui::Exporter exporter(std::move(job), test::catalogue(), {});
        while (!exporter.step()) {
        }
    }
    const std::string svg = test::content(folder.file("grid.svg"));
    CHECK(svg.find("1F1B") != std::string::npos);
    CHECK(svg.find("without end") == std::string::npos);
    CHECK(app.state().refused_move);
}

TEST_CASE("a grid's boxes are found by lane and block, and halves stand in one place") {
    auto pipeline = std::make_shared<view::PipelineGrid>();
    auto& lane = pipeline->lanes.emplace_back();
    lane.rank = 5;
    for (const int32_t first : {2, 8, 12, 20}) lane.blocks.emplace_back().first = first;
    // The second and the third are the halves of one backward.
    const session::MovableGrid grid{pipeline, {{0, 1, 1, 2}}};
    view::Picture picture;
    const auto add = [&](int64_t event, float x, float w, float h) {
        view::Shape shape;
        shape.kind = view::ShapeKind::rect;
        shape.id = {"event", 5, event};
        shape.box = {x, 10, w, h};
        picture.shapes.push_back(shape);
    };
    add(2, 0, 20, 30);
    add(5, 20, 10, 30);  // what it waits in
    add(8, 30, 20, 30);
    add(8, 30, 20, 5);  // a backward's dark foot
    add(12, 50, 20, 30);
    add(20, 70, 20, 30);
    const panels::GridBoxes boxes(grid, picture);
    CHECK(boxes.round(0, 1)->h == 30);
    CHECK(boxes.round(0, 2)->x == 30);
    CHECK(boxes.round(0, 2)->w == 40);
    CHECK(boxes.round(0, 3)->w == 20);
    CHECK(boxes.at({55, 20}) == std::pair(std::size_t{0}, std::size_t{2}));
    CHECK_FALSE(boxes.at({25, 20}));
    CHECK(boxes.place_at(0, 2, 5) == 0);
    CHECK(boxes.place_at(0, 2, 50) == 1);  // its own: the other half does not count
    CHECK(boxes.place_at(0, 2, 85) == 2);
    CHECK(boxes.edge_of({0, 2, 0}) == -1);
    CHECK(boxes.edge_of({0, 2, 1}) == 69);
    CHECK(boxes.edge_of({0, 2, 2}) == 91);
    CHECK(grid.own_place(0, 3) == 3);
}
