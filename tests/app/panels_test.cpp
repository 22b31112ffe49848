// The window around the views: tabs, selection, keys, playing.
#include <set>

#include "app/gui/panels/layout.h"
#include "app/gui/panels/views.h"
#include "app/gui/session/session.h"
#include "harness.h"
#include "tests/test.h"

using namespace meshscope;
using test::Harness;
using window::Key;

TEST_CASE("clicking a tab shows its view") {
    Harness app;
    app.open(test::lesson());
    for (const int tab : {1, 2, 3, 4, 5, 6, 7, 0}) {
        app.click(app.widget("tab" + std::to_string(tab)));
        CHECK(static_cast<int>(app.state().view) == tab);
    }
}

TEST_CASE("the language switches at once, and back") {
    Harness app;
    app.open(test::lesson());
    app.click(app.widget("language0"));
    CHECK(app.state().language == view::Language::zh);
    app.click(app.widget("language1"));
    CHECK(app.state().language == view::Language::en);
}

TEST_CASE("a rank clicked in the mesh is selected in every view") {
    Harness app;
    app.open(test::lesson());
    app.click(app.shape("rank", 2));
    CHECK(app.state().selection.rank == 2);
    CHECK(app.state().selection.asking_rank == 2);
    app.click(app.widget("tab2"));
    CHECK(app.state().selection.rank == 2);
    // The table's row does the same.
    app.click(app.widget("tab0"));
    const view::Rect* row = nullptr;  // as wide as the table, where a card is not
    for (const auto& place : app.stage().memory().shapes) {
        if (place.id == view::Id{"rank", 3} && place.box.w > 400) row = &place.box;
    }
    REQUIRE(row != nullptr);
    app.click({row->x + row->w / 2, row->y + row->h / 2});
    CHECK(app.state().selection.rank == 3);
}

TEST_CASE("a slice is typed into its box and taken on Enter") {
    Harness app;
    app.open(test::lesson());
    app.click(app.widget("slice"));
    REQUIRE(app.stage().typing());
    app.type("shard");
    app.click(app.widget("slice_enter"));
    CHECK(app.state().selection.slice == "shard");
}

TEST_CASE("letters typed into a field are no shortcuts") {
    Harness app;
    app.open(test::lesson());
    app.click(app.widget("slice"));
    app.key(Key::l);
    app.key(Key::space);
    CHECK(app.state().language == view::Language::en);
    CHECK_FALSE(app.state().playing);
}

TEST_CASE("an event clicked on the timeline is selected, and Escape lets go of it") {
    Harness app(1920, 1080);
    app.open(test::lesson());
    app.click(app.widget("tab2"));
    const auto gather = app.state().document->steps[1].at;
    REQUIRE(gather);
    app.click(app.shape("event", gather->rank, gather->event));
    CHECK(app.state().selection.event == gather->event);
    CHECK(app.state().selection.event_rank == gather->rank);
    app.key(Key::escape);
    CHECK_FALSE(app.state().selection.event);
}

TEST_CASE("dragging along the ruler scrubs the cursor, back as well as on") {
    Harness app;
    app.open(test::lesson());
    app.click(app.widget("tab2"));
    app.key(Key::home);
    const view::Point start = app.shape("cursor", -1);
    const float ruler = 52 + 55;
    app.drag({start.x + 5, ruler}, {start.x + 200, ruler});
    const int64_t there = app.state().cursor.t_ns;
    CHECK(there > 0);
    app.drag({start.x + 200, ruler}, {start.x + 50, ruler});
    CHECK(app.state().cursor.t_ns < there);
    CHECK(app.state().cursor.t_ns > 0);
}

TEST_CASE("the wheel zooms the timeline round the pointer") {
    Harness app;
    app.open(test::lesson());
    app.click(app.widget("tab2"));
    app.wheel({800, 400}, 3);
    const int64_t span = app.state().range_end_ns - app.state().range_begin_ns;
    const int64_t whole = app.state().document->modelled.end_ns;
    // Three notches of 1.25.
    CHECK(static_cast<double>(span) == Approx(static_cast<double>(whole) / 1.953125).epsilon(0.01));
    CHECK(app.state().range_begin_ns > 0);
    app.wheel({800, 400}, -20);
    CHECK(app.state().range_end_ns == 0);  // all of it again
}

TEST_CASE("the clock switch of the timeline changes the clock") {
    Harness app;
    app.open(test::lesson());
    app.click(app.widget("tab2"));
    app.click(app.shape("clock", static_cast<int64_t>(time::ClockKind::measured)));
    CHECK(app.state().clock == time::ClockKind::measured);
}

TEST_CASE("play, pause and steps by their buttons") {
    Harness app;
    app.open(test::lesson());
    app.key(Key::home);
    app.click(app.widget("next_hop"));
    app.settle();
    const int64_t hop = app.state().cursor.t_ns;
    CHECK(hop > 0);
    app.click(app.widget("next_event"));
    app.settle();
    CHECK(app.state().cursor.t_ns > hop);
    app.click(app.widget("play"));
    CHECK(app.state().playing);
    app.frames(5);
    app.click(app.widget("play"));
    CHECK_FALSE(app.state().playing);
    app.click(app.widget("speed"));
    CHECK(app.state().speed == 2);
}

TEST_CASE("every button can be reached by Tab and pressed by Enter") {
    Harness app;
    app.open(test::lesson());
    std::set<std::string> reached;
    for (int i = 0; i < 100 && reached.count("tab3") == 0; ++i) {
        app.key(Key::tab);
        reached.insert(app.stage().memory().focus);
    }
    REQUIRE(reached.count("tab3") == 1);
    REQUIRE(app.stage().memory().focus == "tab3");
    app.key(Key::enter);
    CHECK(app.state().view == view::ViewKind::memory);
}

TEST_CASE("in a narrow window the facts come as a drawer by F2, or by the handle at the edge") {
    Harness app(1000, 700);
    app.open(test::lesson());
    CHECK_FALSE(app.has_widget("copy_facts"));
    app.key(Key::f2);
    CHECK(app.has_widget("copy_facts"));
    app.key(Key::escape);
    CHECK_FALSE(app.has_widget("copy_facts"));
    for (const bool open : {true, false}) {
        app.click(app.widget("drawer"));
        app.frames(2);
        CHECK(app.has_widget("copy_facts") == open);
    }
    Harness wide(1600, 900);
    wide.open(test::lesson());
    CHECK_FALSE(wide.has_widget("drawer"));
}

TEST_CASE("the splitter moves with the pointer and stays within its limits") {
    Harness app;
    app.open(test::lesson());
    const view::Point grip = app.widget("splitter");
    app.drag(grip, {grip.x, grip.y + 80});
    CHECK(app.state().split > 0.6F);
    app.drag(app.widget("splitter"), {grip.x, 5});
    CHECK(app.state().split == 0.2F);
}

TEST_CASE("an error is shown with its lines, copied as text, and closed") {
    Harness app;
    app.stage().act(session::ShowError{{{"x.toml:3:1: a mesh (2, 2) needs 4 ranks"}}});
    app.frames(3);
    app.click(app.widget("error_copy"));
    CHECK(app.stage().take_effects().copy ==
          std::vector<std::string>{"x.toml:3:1: a mesh (2, 2) needs 4 ranks\n"});
    app.click(app.widget("error_close"));
    CHECK_FALSE(app.state().error);
}

TEST_CASE("the welcome page offers lessons and opens the one pressed") {
    Harness app;
    session::LessonCard offer;
    offer.id = "scenarios/63_hsdp/scenario.toml";
    offer.title = {"HSDP", "HSDP"};
    app.stage().act(session::OfferLessons{{offer}});
    app.frames(3);
    app.click(app.widget("offer0"));
    CHECK(app.stage().take_effects().open == std::vector<std::string>{offer.id});
}

TEST_CASE("a lesson's thumbnail moves once when it is pointed at, and not with reduced motion") {
    for (const bool reduced : {false, true}) {
        Harness app;
        session::LessonCard offer;
        offer.id = "scenarios/63_hsdp/scenario.toml";
        offer.mesh = {{"replicate", 2}, {"shard", 2}};
        app.stage().act(session::OfferLessons{{offer}});
        app.stage().act(session::SetReducedMotion{reduced});
        app.frames(3);
        CHECK_FALSE(app.stage().moving());
        app.click(app.widget("offer0"));  // what it opens is opened by nobody here: the pointer stays
        CHECK(app.stage().moving() == !reduced);
        app.frames(30, 0.1);
        CHECK_FALSE(app.stage().moving());
    }
}

TEST_CASE("a cell of the traffic matrix is chosen by pointer and by keyboard, its spans and kinds too") {
    Harness app(1600, 1000);
    app.open(test::lesson());
    app.key(Key::digit6);
    app.settle();
    REQUIRE(app.state().view == view::ViewKind::traffic);
    app.click(app.shape("link", 0, 1));
    CHECK(app.state().selection.cell == view::TrafficCell{{0, 1}, {1, 1}});
    CHECK(app.state().selection.rank == 0);
    app.key(Key::down, false, true);
    CHECK(app.state().selection.cell ==
          view::TrafficCell{{3, 1}, {1, 1}});  // nothing in between sends to rank 1
    app.key(Key::left, false, true);
    CHECK(app.state().selection.cell == view::TrafficCell{{3, 1}, {1, 1}});
    app.key(Key::s);
    CHECK(app.state().traffic.span == view::TrafficSpan::step);
    app.click(app.shape("traffic_span", 2));
    CHECK(app.state().traffic.span == view::TrafficSpan::cursor);
    app.click(app.shape("traffic_span", 0));
    app.key(Key::o);
    CHECK(app.state().traffic.op == static_cast<uint8_t>(CollectiveOp::all_reduce));
    app.settle();
    app.click(app.shape("traffic_op", -1));
    CHECK_FALSE(app.state().traffic.op);
    app.click(app.widget("copy_facts"));
    const auto copied = app.stage().take_effects().copy;
    REQUIRE(copied.size() == 1);
    CHECK(copied[0].find("rank 3") != std::string::npos);
    CHECK(copied[0].find("3\t0\t") != std::string::npos);  // the matrix, too
    // A cause leads to its event; the event's facts take the place of the link's.
    const auto& places = app.stage().memory().shapes;
    const auto cause =
        std::find_if(places.begin(), places.end(), [](const auto& p) { return p.id.kind == "cause"; });
    REQUIRE(cause != places.end());
    app.click({cause->box.x + 4, cause->box.y + 4});
    CHECK(app.state().selection.event);
}

TEST_CASE("a row of a weight is chosen by pointer and by keyboard, and its life leads to events") {
    Harness app(1600, 1000);
    app.open(test::lesson());
    app.key(Key::digit5);
    app.settle();
    REQUIRE(app.state().view == view::ViewKind::tensors);
    app.key(Key::g);
    REQUIRE(app.state().forms.in(view::Form::attention));
    app.key(Key::g);
    REQUIRE(app.state().forms.in(view::Form::rows));
    app.settle();
    app.click(app.shape("weight", 1, 7));
    CHECK(app.state().selection.rank == 1);
    CHECK(app.state().selection.parameter == "net1.weight");
    CHECK(app.state().selection.row == 7);
    app.key(Key::up, false, true);
    CHECK(app.state().selection.row == 6);
    app.key(Key::right, false, true);
    CHECK(app.state().selection.parameter == "net1.bias");
    app.settle();
    app.click(app.shape("parameter_unit", 1));
    CHECK(app.state().selection.parameter == "net2.weight");
    CHECK(app.state().selection.row == -1);
    app.settle();
    app.click(app.widget("copy_facts"));
    const auto copied = app.stage().take_effects().copy;
    REQUIRE(copied.size() == 1);
    CHECK(copied[0].find("net2.weight[0:30]") != std::string::npos);
    const auto& places = app.stage().memory().shapes;
    const auto life = std::find_if(places.begin(), places.end(), [](const auto& p) {
        return p.id.kind == "life" && p.id.a == 1 && p.box.w > 8;
    });
    REQUIRE(life != places.end());
    const auto event = static_cast<int32_t>(life->id.b);
    app.click({life->box.x + life->box.w / 2, life->box.y + 6});
    CHECK(app.state().selection.event == event);
    const auto at = app.state().document->modelled.events[1][static_cast<size_t>(event)];
    CHECK(app.state().cursor.t_ns >= at.begin_ns);
    CHECK(app.state().cursor.t_ns <= at.end_ns);
}

TEST_CASE("where the tabs have no room one button names the view and leads to all of them") {
    Harness app(390, 844);
    app.open(test::lesson());
    app.frames(3);
    CHECK_FALSE(app.has_widget("tab0"));
    CHECK_FALSE(app.state().palette);
    app.click(app.widget("views"));
    app.frames(2);
    app.click(app.widget("view" + std::to_string(static_cast<int>(view::ViewKind::memory))));
    app.frames(2);
    CHECK(app.state().view == view::ViewKind::memory);
    CHECK_FALSE(app.has_widget("view0"));
    // A press elsewhere closes it, and presses nothing.
    app.click(app.widget("views"));
    app.frames(2);
    REQUIRE(app.has_widget("view0"));
    const Point on = app.widget("lesson_on");
    app.click(on);
    app.frames(2);
    CHECK_FALSE(app.has_widget("view0"));
    CHECK(app.state().lesson_step == 0);
    app.resize(1280, 720);
    app.frames(3);
    CHECK(app.has_widget("tab0"));
    CHECK_FALSE(app.has_widget("views"));
}
