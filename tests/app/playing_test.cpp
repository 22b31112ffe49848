// Stepping and playing: where the cursor goes, how fast, and what is said on the way.
#include <algorithm>

#include "app/gui/view/common.h"
#include "machine.h"
#include "tests/test.h"

using namespace meshscope;
using namespace meshscope::session;
using test::Machine;
using test::with_lesson;

TEST_CASE("stepping by hop lands where the hop's data has arrived, on some rank") {
    Machine m = with_lesson();
    m.act(SetCursor{0});
    for (int i = 0; i < 5; ++i) {
        const int64_t before = m.state.cursor.t_ns;
        m.act(StepHop{1});
        m.settle();
        const int64_t now = m.state.cursor.t_ns;
        CHECK(now > before);
        bool edge = false;
        for (const auto& hops : m.state.document->modelled.hops) {
            for (const auto& hop : hops) edge = edge || hop.end_ns == now || hop.begin_ns == now;
        }
        CHECK(edge);
    }
}

TEST_CASE("stepping back undoes stepping on") {
    Machine m = with_lesson();
    m.act(JumpTo{false});
    std::vector<int64_t> seen;
    for (int i = 0; i < 6; ++i) {
        m.act(StepEvent{1});
        m.settle();
        seen.push_back(m.state.cursor.t_ns);
    }
    for (size_t i = seen.size() - 1; i-- > 0;) {
        m.act(StepEvent{-1});
        m.settle();
        CHECK(m.state.cursor.t_ns == seen[i]);
    }
}

TEST_CASE("presses faster than the animation are not lost") {
    Machine slow = with_lesson(), fast = with_lesson();
    slow.act(SetCursor{0});
    fast.act(SetCursor{0});
    for (int i = 0; i < 3; ++i) {
        slow.act(StepHop{1});
        slow.settle();
        fast.act(StepHop{1});
    }
    fast.settle();
    CHECK(fast.state.cursor.t_ns == slow.state.cursor.t_ns);
}

TEST_CASE("a hop takes 320 ms at speed 1, and the way there eases in and out") {
    Machine m = with_lesson();
    m.act(SetCursor{0});
    m.act(StepHop{1});
    const int64_t to = m.state.glide->to_ns;
    m.act(Tick{0.16});
    CHECK(static_cast<double>(m.state.cursor.t_ns) == Approx(static_cast<double>(to) / 2).margin(1));
    m.act(Tick{0.15});
    CHECK(m.state.glide);
    m.act(Tick{0.02});
    CHECK_FALSE(m.state.glide);
    CHECK(m.state.cursor.t_ns == to);
}

TEST_CASE("reduced motion goes there at once") {
    Machine m = with_lesson();
    m.act(SetReducedMotion{true});
    m.act(SetCursor{0});
    m.act(StepHop{1});
    CHECK_FALSE(m.state.glide);
    CHECK(m.state.cursor.t_ns > 0);
}

TEST_CASE("playing runs to the end, stops there, and starts anew from the beginning") {
    Machine m = with_lesson();
    m.act(JumpTo{false});
    m.act(TogglePlay{});
    REQUIRE(m.state.playing);
    m.act(Tick{0.1});
    CHECK(m.state.cursor.t_ns > 0);
    for (int i = 0; i < 5000 && m.state.playing; ++i) m.act(Tick{0.1});
    CHECK_FALSE(m.state.playing);
    CHECK(m.state.cursor.t_ns == m.state.document->modelled.end_ns);
    m.act(TogglePlay{});
    CHECK(m.state.playing);
    CHECK(m.state.cursor.t_ns == 0);
}

TEST_CASE("playing comes to all that ends, rests there for a moment and says what happened") {
    Machine m = with_lesson();
    m.act(JumpTo{false});
    m.act(TogglePlay{});
    CHECK_FALSE(shown_beat(m.state));
    std::optional<view::Beat> last;
    std::vector<int64_t> told;
    double still = 0, longest_hop = 0, since = 0;
    int64_t before = 0;
    for (int i = 0; i < 200000 && m.state.playing; ++i) {
        m.act(Tick{0.01});
        since += 0.01;
        still = m.state.cursor.t_ns == before ? still + 0.01 : 0;
        CHECK(still < 0.5);
        before = m.state.cursor.t_ns;
        const auto now = shown_beat(m.state);
        if (!now || (last && now->t_ns == last->t_ns)) continue;
        CHECK(now->t_ns == m.state.cursor.t_ns);
        if (now->hop) longest_hop = std::max(longest_hop, since);
        since = 0;
        told.push_back(now->t_ns);
        last = now;
    }
    const auto& trace = *m.state.document->trace;
    const int32_t rank = view::focus_rank(trace, m.state.selection);
    std::vector<int64_t> all;
    while (const auto next =
               view::next_beat(trace, m.state.document->modelled, {all.empty() ? 0 : all.back()}, rank))
        all.push_back(next->t_ns);
    CHECK(told == all);
    CHECK(longest_hop < 1.2);  // at most a call's rest, then the way to the hop
    m.act(SetCursor{all.front() + 1});
    CHECK_FALSE(shown_beat(m.state));
}

TEST_CASE("a lesson's call is played to its end, and playing once more goes on") {
    Machine m = with_lesson();
    const auto& steps = m.state.document->steps;
    const auto step = std::find_if(steps.begin(), steps.end(), [](const session::LessonStep& one) {
        return one.view == view::ViewKind::collective;
    });
    REQUIRE(step != steps.end());
    m.act(GoToLessonStep{static_cast<int32_t>(step - steps.begin())});
    m.settle();
    const view::Selection told = m.state.selection;
    REQUIRE(told.event);
    const time::Interval call =
        m.state.document->modelled
            .events[static_cast<size_t>(*told.event_rank)][static_cast<size_t>(*told.event)];
    m.act(TogglePlay{});
    for (int i = 0; i < 5000 && m.state.playing; ++i) m.act(Tick{0.1});
    CHECK_FALSE(m.state.playing);
    CHECK(m.state.cursor.t_ns == call.end_ns);
    CHECK(m.state.selection.event == told.event);
    m.act(TogglePlay{});
    for (int i = 0; i < 5000 && m.state.playing; ++i) m.act(Tick{0.1});
    CHECK(m.state.cursor.t_ns == m.state.document->modelled.end_ns);
}

TEST_CASE("playing in the mesh, which stands still, goes to the view that shows what comes next") {
    Machine m = with_lesson();
    m.act(SetView{view::ViewKind::mesh});
    m.act(JumpTo{false});
    m.act(TogglePlay{});
    const auto next = m.state.stretch->beat;
    REQUIRE(next);
    const bool call = m.state.document->trace->event(next->event.rank, next->event.event).kind ==
                      trace::EventKind::collective;
    CHECK(m.state.view == (call ? view::ViewKind::collective : view::ViewKind::timeline));
    for (const view::ViewKind kind : view::kViewKinds) {
        if (kind == view::ViewKind::mesh) continue;
        m.act(SetView{kind});
        m.act(TogglePlay{});
        m.act(TogglePlay{});
        CHECK(m.state.view == kind);
    }
}

TEST_CASE("after a step of a hop stands what happened, until the cursor moves on") {
    Machine m = with_lesson();
    m.act(SetCursor{0});
    m.act(StepHop{1});
    m.settle();
    REQUIRE(shown_beat(m.state));
    CHECK(shown_beat(m.state)->t_ns == m.state.cursor.t_ns);
    CHECK(shown_beat(m.state)->hop);
    m.act(SetReducedMotion{true});
    m.act(StepHop{1});
    CHECK(shown_beat(m.state));
    m.act(ShowDocument{test::lesson("22_ring")});
    CHECK_FALSE(shown_beat(m.state));
}

TEST_CASE("playing goes from a quarter of the speed to sixteen times") {
    Machine m = with_lesson();
    m.act(SetSpeed{100});
    CHECK(m.state.speed == 16);
    m.act(SetSpeed{0});
    CHECK(m.state.speed == 0.25);
}
