// The queues of p2p in the window: each group's own on the modelled clock, one for all where times were
// recorded.
#include <algorithm>

#include "app/gui/view/code_facts.h"
#include "app/gui/view/code_view.h"
#include "app/gui/view/stepping.h"
#include "app/gui/view/timeline_bars.h"
#include "app/gui/view/timeline_view.h"
#include "tests/test.h"
#include "tests/time/hand_made.h"
#include "tests/time/simple_profile.h"
#include "tests/view/picture_check.h"
#include "tests/view/stage.h"

using namespace meshscope;
using test::check_interval;
using test::find;
using test::HandMade;

namespace {

/// Rank 0 computes for 300 ns, receives of rank 1 from 1000 to 3100, and exchanges with rank 2, which comes
/// at 2000, from then to 2120 and on to 2240.
struct Ring {
    Ring() {
        const int32_t pipeline = made.group({0, 1}), ring = made.group({0, 2});
        made.compute(0, 300);
        made.compute(1, 1000);
        made.compute(2, 2000);
        made.depend(1, made.collective(1, CollectiveOp::send, pipeline, 0, Stream::p2p, 0), 0);
        received = made.collective(0, CollectiveOp::recv, pipeline, 0, Stream::p2p, 1);
        made.hop(received, 0, 1, 0, 1000);
        const auto first = made.ring(CollectiveOp::all_to_all, ring, 0, 1, 10, Stream::p2p);
        made.depend(0, first[0], 0);
        made.depend(2, first[1], 0);
        exchanged = first[0];
        again = made.ring(CollectiveOp::all_to_all, ring, 1, 1, 10, Stream::p2p)[0];
    }
    view::Input input(const time::Clock& clock) const {
        return {made.trace, clock, {0}, selection, {1400, 600}, view::Language::en, measure, texts};
    }
    HandMade made{3};
    int32_t received = -1, exchanged = -1, again = -1;
    view::Selection selection;
    test::FakeMeasure measure;
    test::CatalogueTexts texts{view::Language::en};
};

/// The event of which the facts say that it stood before this one in its queue; -1: none.
int32_t before(const Ring& run, const time::Clock& clock, int32_t event) {
    for (const auto& waited : view::explain_event(run.input(clock), {0, event}).waited)
        if (waited.stream) return waited.on.event;
    return -1;
}

}  // namespace

TEST_CASE(
    "a ring's exchange waits from when its own group's queue is free, whatever another group receives") {
    const Ring run;
    const time::Clock clock = time::modelled(run.made.trace, test::simple());
    const auto waits = view::waits(run.made.trace, clock, 0);
    check_interval(clock.events[0][static_cast<std::size_t>(run.received)], 1000, 3100);
    check_interval(waits[static_cast<std::size_t>(run.exchanged)], 300, 2000);
    check_interval(waits[static_cast<std::size_t>(run.again)], 2120, 2120);
}

TEST_CASE("what an event waited for in its queue is of its own group on p2p, and of any in recorded times") {
    const Ring run;
    const time::Clock modelled = time::modelled(run.made.trace, test::simple());
    CHECK(before(run, modelled, run.exchanged) == -1);
    CHECK(before(run, modelled, run.again) == run.exchanged);
    const time::Clock measured = time::measured(run.made.trace);
    CHECK(before(run, measured, run.exchanged) == run.received);
    CHECK(before(run, measured, run.again) == run.exchanged);
}

TEST_CASE("a call that never ended stands behind one of its own queue alone") {
    HandMade made(3);
    const int32_t pipeline = made.group({0, 1}), ring = made.group({0, 2});
    for (int32_t r = 0; r < 3; ++r) made.compute(r, 300);
    made.collective(0, CollectiveOp::recv, pipeline, 0, Stream::p2p, 1);
    const int32_t exchanged = made.collective(0, CollectiveOp::all_to_all, ring, 0, Stream::p2p);
    const int32_t again = made.collective(0, CollectiveOp::all_to_all, ring, 1, Stream::p2p);
    made.trace.info.failure = "rank 1 went away";
    const view::Selection selection;
    const test::FakeMeasure measure;
    const test::CatalogueTexts texts{view::Language::en};
    const std::string words = texts.text({"view.fact.not_begun", {}});
    const auto not_begun = [&](const time::Clock& clock, int32_t event) {
        const view::Input input{made.trace,         clock,   {0},  selection, {1400, 600},
                                view::Language::en, measure, texts};
        const auto rows = view::describe_event(input, {0, event}).rows;
        return std::any_of(rows.begin(), rows.end(), [&](const auto& row) { return row.value == words; });
    };
    const time::Clock modelled = time::modelled(made.trace, test::simple());
    CHECK_FALSE(not_begun(modelled, exchanged));
    CHECK(not_begun(modelled, again));
    CHECK(not_begun(time::measured(made.trace), exchanged));
}

TEST_CASE(
    "bars of several queues share a lane's height where they overlap, and merge within their own alone") {
    std::vector<trace::Event> events(6);
    for (trace::Event& event : events) event.kind = trace::EventKind::collective;
    const std::vector<view::Bar> bars{{0, 100, 0, 1, 1},  {20, 21, 1, 1, 2},   {22, 23, 2, 1, 2},
                                      {90, 130, 3, 1, 2}, {130, 150, 4, 1, 1}, {200, 201, 5, 1, 1}};
    const auto merged = view::merge_lane(bars, events);
    REQUIRE(merged.size() == 5);
    CHECK(merged[0].event == 0);
    CHECK(merged[0].row == 0);
    CHECK(merged[0].rows == 2);
    CHECK(merged[1].count == 2);  // the two narrow ones of the other queue
    CHECK(merged[1].row == 1);
    CHECK(merged[2].event == 3);
    CHECK(merged[2].row == 1);
    CHECK(merged[3].event == 4);  // begins where the others end
    CHECK(merged[3].rows == 1);
    CHECK(merged[4].rows == 1);
    CHECK(view::row_of(merged[0], 10, 20) == std::pair(10.F, 9.F));
    CHECK(view::row_of(merged[2], 10, 20) == std::pair(20.F, 9.F));
    CHECK(view::row_of(merged[3], 10, 20) == std::pair(10.F, 20.F));
}

TEST_CASE("on the timeline no bar of p2p lies over another") {
    const Ring run;
    const time::Clock clock = time::modelled(run.made.trace, test::simple());
    const auto picture = view::timeline_view(run.input(clock));
    const auto bar = [&](int32_t event) {
        const auto found = find(picture, "event", 0, event);
        REQUIRE_FALSE(found.empty());
        return found[0]->box;
    };
    const auto received = bar(run.received), exchanged = bar(run.exchanged), again = bar(run.again);
    CHECK(exchanged.x < received.x + received.w);
    for (const auto& other : {exchanged, again}) {
        CHECK(other.h > 5);
        CHECK((other.y >= received.y + received.h || received.y >= other.y + other.h));
    }
    CHECK(exchanged.y == again.y);
    const auto lane = find(picture, "lane", 0, static_cast<int64_t>(view::Lane::p2p))[0]->box;
    for (const auto& box : {received, exchanged, again}) {
        CHECK(box.y >= lane.y);
        CHECK(box.y + box.h <= lane.y + lane.h);
    }
}

TEST_CASE("without overlap a collective waits behind the kernels that were issued before it") {
    Ring run;
    time::Profile profile = test::simple();
    CHECK(before(run, time::modelled(run.made.trace, profile), run.exchanged) == -1);
    profile.overlap = false;
    const auto clock = time::modelled(run.made.trace, profile);
    CHECK(before(run, clock, run.exchanged) == 0);
    // A kernel is no part of the exchange's stream, and is not said to be.
    run.selection.choose_event(0, run.exchanged);
    const view::Picture facts = view::code_facts(run.input(clock));
    CHECK(test::says_part(facts, "one after the other"));
    CHECK_FALSE(test::says_part(facts, "before it on stream"));
}
