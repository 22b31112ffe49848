// The stream of sends and receives on the modelled clock: a pipeline's, and a ring's permutes.
#include "core/time/clock.h"
#include "core/time/queue.h"
#include "core/time/step.h"
#include "core/trace/simulated.h"
#include "tests/test.h"
#include "tests/time/hand_made.h"
#include "tests/time/simple_profile.h"

using meshscope::Algorithm;
using meshscope::CollectiveOp;
using meshscope::Stream;
using meshscope::test::check_interval;
using meshscope::test::first_ranks;
using meshscope::test::HandMade;
using meshscope::test::simple;
using meshscope::time::Clock;
using meshscope::time::modelled;

TEST_CASE("a ring's exchange does not stand behind another group's receive, one of its own group does") {
    HandMade made(3);
    const int32_t pipeline = made.group({0, 1}), ring = made.group({0, 2});
    made.compute(1, 1000);
    const int32_t sends = made.collective(1, CollectiveOp::send, pipeline, 0, Stream::p2p, 0);
    made.depend(1, sends, 0);
    const int32_t waits = made.collective(0, CollectiveOp::recv, pipeline, 0, Stream::p2p, 1);
    made.hop(waits, 0, 1, 0, 10);
    const int32_t first = made.ring(CollectiveOp::all_to_all, ring, 0, 1, 10, Stream::p2p)[0];
    const int32_t second = made.ring(CollectiveOp::all_to_all, ring, 1, 1, 10, Stream::p2p)[0];
    const Clock clock = modelled(made.trace, simple());
    check_interval(clock.events[0][static_cast<size_t>(waits)], 1000, 1120);
    check_interval(clock.events[0][static_cast<size_t>(first)], 0, 120);
    check_interval(clock.events[0][static_cast<size_t>(second)], 120, 240);
}

TEST_CASE("without recorded hops a permute takes one hop, over the slowest link of its ring") {
    for (const int32_t p : {2, 4, 8}) {
        HandMade made(p);
        for (int32_t r = 0; r < p; ++r) made.trace.info.node_of_rank.push_back(r / 4);
        const auto ids =
            made.ring(CollectiveOp::all_to_all, made.group(first_ranks(p)), 0, 1, 40, Stream::p2p);
        for (int32_t r = 0; r < p; ++r) {
            auto& event = made.event(r, ids[static_cast<size_t>(r)]);
            event.algorithm = Algorithm::direct;
            event.in_elements = event.out_elements = 10;
        }
        CHECK(modelled(made.trace, simple()).end_ns == (p > 4 ? 300 + 4 * 40 : 100 + 2 * 40));
        made.trace.info.level = meshscope::trace::Level::collectives;
        for (auto& rank : made.trace.ranks) rank.hops.clear();
        CHECK(modelled(made.trace, simple()).end_ns == (p > 4 ? 300 + 4 * 40 : 100 + 2 * 40));
    }
}

TEST_CASE("each group has a queue of p2p where the clock is played, a stream one where times were recorded") {
    HandMade made(3);
    const int32_t pipeline = made.group({0, 1}), ring = made.group({0, 2});
    made.compute(0, 1);
    made.collective(0, CollectiveOp::recv, pipeline, 0, Stream::p2p, 1);
    made.collective(0, CollectiveOp::all_to_all, ring, 0, Stream::p2p);
    made.collective(0, CollectiveOp::all_gather, ring, 1, Stream::all_gather);
    namespace time = meshscope::time;
    const auto queue = [&](const Clock& clock, int32_t event) {
        return time::queue_of(made.trace, clock, made.event(0, event));
    };
    Clock clock;
    clock.kind = time::ClockKind::modelled;
    CHECK(queue(clock, 0) == time::Queue{Stream::compute, -1});
    CHECK(queue(clock, 1) == time::Queue{Stream::p2p, pipeline});
    CHECK(queue(clock, 2) == time::Queue{Stream::p2p, ring});
    CHECK(queue(clock, 3) == time::Queue{Stream::all_gather, -1});
    // Without overlap all but sends and receives join compute.
    clock.overlap = false;
    CHECK(queue(clock, 1) == time::Queue{Stream::p2p, pipeline});
    CHECK(queue(clock, 2) == queue(clock, 0));
    CHECK(queue(clock, 3) == queue(clock, 0));
    made.trace.info.backend = meshscope::trace::kSimulated;
    CHECK(queue(clock, 1) == queue(clock, 2));
    made.trace.info.backend = "";
    clock.kind = time::ClockKind::measured;
    CHECK(queue(clock, 1) == queue(clock, 2));
    HandMade alone(1);
    alone.compute(0, 10);
    time::Profile profile = simple();
    CHECK(modelled(alone.trace, profile).overlap);
    profile.overlap = false;
    CHECK_FALSE(modelled(alone.trace, profile).overlap);
}

TEST_CASE("a step counts from where the one before ended, never from outside of its own span") {
    using meshscope::time::counted_span;
    check_interval(counted_span({100, 300}, 150), 150, 300);
    check_interval(counted_span({100, 300}, 50), 100, 300);
    check_interval(counted_span({100, 300}, 0), 100, 300);
    check_interval(counted_span({100, 300}, 400), 300, 300);
    check_interval(counted_span({}, 400), 0, 0);
}
