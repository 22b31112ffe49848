#include <cmath>
#include <limits>

#include "core/base/error.h"
#include "core/time/clock.h"
#include "tests/test.h"
#include "tests/time/hand_made.h"
#include "tests/time/simple_profile.h"

using meshscope::Algorithm;
using meshscope::CollectiveOp;
using meshscope::InvalidArgument;
using meshscope::Stream;
using meshscope::test::check_interval;
using meshscope::test::first_ranks;
using meshscope::test::HandMade;
using meshscope::test::simple;
using meshscope::time::Clock;
using meshscope::time::Interval;
using meshscope::time::modelled;
using meshscope::time::Profile;

namespace {

std::string id_of_error(const HandMade& made) {
    try {
        modelled(made.trace, simple());
    } catch (const InvalidArgument& error) {
        return error.message().id;
    }
    return "";
}

}  // namespace

TEST_CASE("a ring all_reduce of n bytes on p ranks takes 2(p-1)(latency + n/p / bandwidth)") {
    for (const int32_t p : {2, 3, 4, 5, 8}) {
        const int64_t n = 240 * p;
        HandMade made(p);
        const auto ids = made.ring(CollectiveOp::all_reduce, made.group(first_ranks(p)), 0, 2 * (p - 1),
                                   n / p, Stream::all_reduce);
        const Clock clock = modelled(made.trace, simple());
        const int64_t expected = 2 * (p - 1) * (100 + 2 * (n / p));
        CHECK(clock.end_ns == expected);
        for (int32_t r = 0; r < p; ++r) {
            check_interval(
                clock.events[static_cast<size_t>(r)][static_cast<size_t>(ids[static_cast<size_t>(r)])], 0,
                expected);
        }
    }
}

TEST_CASE("a ring all_gather takes (p-1)(latency + part / bandwidth), and its rounds follow one another") {
    HandMade made(4);
    made.ring(CollectiveOp::all_gather, made.group(first_ranks(4)), 0, 3, 50);
    const Clock clock = modelled(made.trace, simple());
    CHECK(clock.end_ns == 3 * 200);
    for (size_t round = 0; round < 3; ++round) {
        const auto begin = static_cast<int64_t>(200 * round);
        check_interval(clock.hops[2][round], begin, begin + 200);
    }
}

TEST_CASE("a direct all_gather in one round is served without conflict: as long as the ring") {
    const int32_t p = 4;
    HandMade made(p);
    const int32_t group = made.group(first_ranks(p));
    for (int32_t r = 0; r < p; ++r) made.collective(r, CollectiveOp::all_gather, group, 0);
    for (int32_t dst = 0; dst < p; ++dst) {
        for (int32_t src = 0; src < p; ++src) {
            if (src != dst) made.hop(0, 0, src, dst, 50);
        }
    }
    const Clock clock = modelled(made.trace, simple());
    CHECK(clock.end_ns == 3 * 200);
    // Rank 2 hears from rank 1 (the nearest before it) first, then from 0, then from 3. Its hops stand as 0,
    // 1, 3.
    check_interval(clock.hops[2][0], 200, 400);
    check_interval(clock.hops[2][1], 0, 200);
    check_interval(clock.hops[2][2], 400, 600);
}

TEST_CASE("a root that sends to everyone in one round sends to one after the other") {
    HandMade made(3);
    const int32_t group = made.group({0, 1, 2});
    for (int32_t r = 0; r < 3; ++r) made.collective(r, CollectiveOp::scatter, group, 0, Stream::compute, 0);
    made.hop(0, 0, 0, 1, 10);
    made.hop(0, 0, 0, 2, 10);
    const Clock clock = modelled(made.trace, simple());
    check_interval(clock.events[0][0], 0, 240);
    check_interval(clock.events[1][0], 0, 120);
    check_interval(clock.events[2][0], 0, 240);
}

TEST_CASE("a tree broadcast of p ranks takes lg p hops, and a rank forwards only what it has") {
    HandMade made(4);
    const int32_t group = made.group(first_ranks(4));
    for (int32_t r = 0; r < 4; ++r) made.collective(r, CollectiveOp::broadcast, group, 0, Stream::compute, 0);
    made.hop(0, 0, 0, 2, 50);
    made.hop(0, 1, 0, 1, 50);
    made.hop(0, 1, 2, 3, 50);
    const Clock clock = modelled(made.trace, simple());
    CHECK(clock.end_ns == 2 * 200);
    check_interval(clock.hops[3][0], 200, 400);
}

TEST_CASE("a hop between nodes takes the other latency and bandwidth") {
    HandMade made(2);
    made.trace.info.node_of_rank = {0, 1};
    made.ring(CollectiveOp::all_gather, made.group({0, 1}), 0, 1, 50);
    CHECK(modelled(made.trace, simple()).end_ns == 300 + 4 * 50);
}

TEST_CASE("one slow link holds up a ring in every round") {
    // 0 → 1 inside node 0, 1 → 2 and 2 → 0 between nodes: the ring goes at the pace of its slowest link.
    HandMade made(3);
    made.trace.info.node_of_rank = {0, 0, 1};
    made.ring(CollectiveOp::all_gather, made.group({0, 1, 2}), 0, 2, 50);
    CHECK(modelled(made.trace, simple()).end_ns == 2 * 500);
}

TEST_CASE("compute takes the longer of its FLOPs and its bytes, rounded up, after the launch") {
    HandMade made(1);
    made.compute(0, 40, 30);
    made.compute(0, 30, 41);
    Profile profile = simple(7);
    const Clock clock = modelled(made.trace, profile);
    check_interval(clock.events[0][0], 0, 47);
    check_interval(clock.events[0][1], 47, 47 + 48);
    profile.flops_per_s = 3e9;  // 13.3 → 14 ns, but 30 bytes take 30
    profile.memory_bytes_per_s = 7e9;
    check_interval(modelled(made.trace, profile).events[0][0], 0, 7 + 14);
}

TEST_CASE("a collective of a group of one takes its launch alone") {
    HandMade made(1);
    made.collective(0, CollectiveOp::all_reduce, made.group({0}), 0, Stream::all_reduce);
    CHECK(modelled(made.trace, simple(9)).end_ns == 9);
}

TEST_CASE("the all_gather of the next unit runs while this unit computes, and its compute waits for it") {
    // FSDP's forward on two ranks: gather A (120), compute A (500) beside gather B (120), compute B (100).
    HandMade made(2);
    const int32_t group = made.group({0, 1});
    made.ring(CollectiveOp::all_gather, group, 0, 1, 10);
    for (const int32_t r : {0, 1}) made.depend(r, made.compute(r, 500), 0);
    made.ring(CollectiveOp::all_gather, group, 1, 1, 10);
    for (const int32_t r : {0, 1}) made.depend(r, made.compute(r, 100), 2);
    const Clock clock = modelled(made.trace, simple());
    for (const size_t r : {size_t{0}, size_t{1}}) {
        check_interval(clock.events[r][0], 0, 120);
        check_interval(clock.events[r][1], 120, 620);
        check_interval(clock.events[r][2], 120, 240);  // hidden
        check_interval(clock.events[r][3], 620, 720);
    }
}

TEST_CASE("without prefetch the same gather waits for the compute before it and is exposed") {
    HandMade made(2);
    const int32_t group = made.group({0, 1});
    made.ring(CollectiveOp::all_gather, group, 0, 1, 10);
    for (const int32_t r : {0, 1}) made.depend(r, made.compute(r, 500), 0);
    made.ring(CollectiveOp::all_gather, group, 1, 1, 10);
    for (const int32_t r : {0, 1}) {
        made.depend(r, 2, 1);
        made.depend(r, made.compute(r, 100), 2);
    }
    const Clock clock = modelled(made.trace, simple());
    check_interval(clock.events[1][2], 620, 740);
    check_interval(clock.events[1][3], 740, 840);
}

TEST_CASE("a collective begins on all its members when the slowest has reached it") {
    HandMade made(3);
    const int32_t group = made.group({0, 1, 2});
    for (const int32_t r : {0, 1, 2}) made.compute(r, 100 * (r + 1));
    made.ring(CollectiveOp::all_reduce, group, 0, 4, 10, Stream::all_reduce);
    for (const int32_t r : {0, 1, 2}) made.depend(r, 1, 0);
    const Clock clock = modelled(made.trace, simple());
    for (size_t r = 0; r < 3; ++r) check_interval(clock.events[r][1], 300, 300 + 4 * 120);
}

TEST_CASE("one stream runs one event at a time, two streams run side by side") {
    HandMade made(2);
    const int32_t group = made.group({0, 1});
    made.ring(CollectiveOp::reduce_scatter, group, 0, 1, 10, Stream::reduce_scatter);
    made.ring(CollectiveOp::reduce_scatter, group, 1, 1, 10, Stream::reduce_scatter);
    made.ring(CollectiveOp::all_reduce, group, 2, 2, 5, Stream::all_reduce);
    const Clock clock = modelled(made.trace, simple());
    check_interval(clock.events[0][0], 0, 120);
    check_interval(clock.events[0][1], 120, 240);
    check_interval(clock.events[0][2], 0, 220);
}

TEST_CASE("sends meet receives in order, and other ranks of the group take no part") {
    HandMade made(3);
    const int32_t group = made.group({0, 1, 2});
    made.compute(1, 50);
    const int32_t from_1 = made.collective(1, CollectiveOp::send, group, 0, Stream::compute, 2);
    const int32_t from_0 = made.collective(0, CollectiveOp::send, group, 0, Stream::compute, 2);
    const int32_t of_0 = made.collective(2, CollectiveOp::recv, group, 0, Stream::compute, 0);
    const int32_t of_1 = made.collective(2, CollectiveOp::recv, group, 1, Stream::compute, 1);
    made.hop(of_0, 0, 0, 2, 10);
    made.hop(of_1, 0, 1, 2, 10);
    const Clock clock = modelled(made.trace, simple());
    check_interval(clock.events[0][static_cast<size_t>(from_0)], 0, 120);
    check_interval(clock.events[1][static_cast<size_t>(from_1)], 120, 240);
    check_interval(clock.events[2][static_cast<size_t>(of_1)], 120, 240);
}

TEST_CASE("a record that cannot have happened is refused") {
    SECTION("a circle inside a rank") {
        HandMade made(1);
        made.compute(0, 1);
        made.compute(0, 1);
        made.depend(0, 0, 1);
        CHECK(id_of_error(made) == "time.cannot_replay");
    }
    SECTION("two ranks that enter two collectives in opposite order on one stream") {
        HandMade made(2);
        const int32_t a = made.group({0, 1});
        const int32_t b = made.group({0, 1});
        made.collective(0, CollectiveOp::barrier, a, 0);
        made.collective(0, CollectiveOp::barrier, b, 0);
        made.collective(1, CollectiveOp::barrier, b, 0);
        made.collective(1, CollectiveOp::barrier, a, 0);
        CHECK(id_of_error(made) == "time.cannot_replay");
    }
    SECTION("a member that never comes is named by who waits for it") {
        HandMade made(2);
        const int32_t group = made.group({0, 1});
        made.compute(1, 5);
        made.collective(1, CollectiveOp::all_reduce, group, 0);
        try {
            modelled(made.trace, simple());
            FAIL("it was played");
        } catch (const InvalidArgument& error) {
            CHECK(std::get<int64_t>(*error.message().find("rank")) == 1);
            CHECK(std::get<int64_t>(*error.message().find("event")) == 1);
        }
    }
    SECTION("a rank outside the group") {
        HandMade made(3);
        const int32_t group = made.group({0, 1});
        made.collective(2, CollectiveOp::all_reduce, group, 0);
        CHECK(id_of_error(made) == "time.cannot_replay");
    }
    SECTION("a hop from a rank that takes no part") {
        HandMade made(3);
        const int32_t group = made.group({0, 1});
        made.collective(0, CollectiveOp::all_gather, group, 0);
        made.collective(1, CollectiveOp::all_gather, group, 0);
        made.hop(0, 0, 2, 1, 4);
        CHECK(id_of_error(made) == "time.cannot_replay");
    }
    SECTION("a dependency on an event that does not exist") {
        HandMade made(1);
        made.compute(0, 1);
        made.depend(0, 0, 7);
        CHECK(id_of_error(made) == "time.cannot_replay");
    }
    SECTION("a profile that would divide by zero") {
        HandMade made(1);
        made.compute(0, 1);
        Profile profile = simple();
        profile.memory_bytes_per_s = 0;
        CHECK_THROWS_AS(modelled(made.trace, profile), InvalidArgument);
        profile.memory_bytes_per_s = NAN;
        CHECK_THROWS_AS(modelled(made.trace, profile), InvalidArgument);
    }
}

TEST_CASE("a run that failed is played as far as it came, and who waits does so to the end") {
    // Both gather; rank 1 dies computing, rank 0 waits in a second gather with another compute behind it.
    HandMade made(2);
    const int32_t world = made.group({0, 1});
    const auto first = made.ring(CollectiveOp::all_gather, world, 0, 1, 1000);
    for (const int32_t r : {0, 1}) {
        made.event(r, first[static_cast<size_t>(r)]).t_end_ns = 10;
        const int32_t id = made.compute(r, 1000);
        made.depend(r, id, first[static_cast<size_t>(r)]);
    }
    const int32_t waits = made.collective(0, CollectiveOp::all_gather, world, 1);
    const int32_t behind = made.compute(0, 1000);
    made.depend(0, behind, waits);
    CHECK(id_of_error(made) == "time.cannot_replay");  // as a whole run it cannot have happened

    made.trace.info.failure = "{}";
    const Clock clock = modelled(made.trace, simple());
    check_interval(clock.events[0][0], 0, 2100);
    check_interval(clock.events[0][1], 2100, 3100);
    check_interval(clock.events[1][1], 2100, 3100);
    CHECK(clock.end_ns == 3411);  // a tenth behind 3100
    check_interval(clock.events[0][static_cast<size_t>(waits)], 2100, 3411);
    check_interval(clock.events[0][static_cast<size_t>(behind)], 3411, 3411);
}

TEST_CASE("a collective that a rank died in never ends for the others, unless they went on") {
    HandMade made(2);
    const int32_t world = made.group({0, 1});
    const auto ids = made.ring(CollectiveOp::all_gather, world, 0, 1, 1000);
    made.event(0, ids[0]).t_end_ns = 10;  // waiting since 0; rank 1's has no length: it died there
    made.trace.info.failure = "{}";
    Clock clock = modelled(made.trace, simple());
    CHECK(clock.events[0][0].end_ns == clock.end_ns);
    CHECK(clock.events[1][0].end_ns == clock.end_ns);

    const int32_t next = made.compute(0, 1000);
    made.depend(0, next, ids[0]);
    clock = modelled(made.trace, simple());
    const int64_t ended = clock.events[0][0].end_ns;
    CHECK(ended < clock.end_ns);
    CHECK(clock.events[0][1].begin_ns == ended);
    CHECK(clock.events[1][0].end_ns == clock.end_ns);
}

TEST_CASE("without recorded hops the ring's steps give what the hops would give") {
    for (const int32_t p : {2, 4, 6}) {
        HandMade made(p);
        const auto ids = made.ring(CollectiveOp::all_reduce, made.group(first_ranks(p)), 0, 2 * (p - 1), 40,
                                   Stream::all_reduce);
        for (int32_t r = 0; r < p; ++r) {
            auto& event = made.event(r, ids[static_cast<size_t>(r)]);
            event.in_elements = event.out_elements = 10 * p;  // float32: chunks of 40 bytes
        }
        const int64_t with_hops = modelled(made.trace, simple()).end_ns;
        made.trace.info.level = meshscope::trace::Level::collectives;
        for (auto& rank : made.trace.ranks) rank.hops.clear();
        CHECK(modelled(made.trace, simple()).end_ns == with_hops);
    }
}

TEST_CASE(
    "the classroom's figures: 55 float32 take 4.2 µs inside a node, 5.2 µs between: 400 FLOPs take 4 µs") {
    const Profile profile = meshscope::time::classroom();
    CHECK(meshscope::time::hop_ns(profile, 55 * 4, false) == 4200);
    CHECK(meshscope::time::hop_ns(profile, 55 * 4, true) == 5200);
    CHECK(meshscope::time::compute_ns(profile, 400, 600) == 4000);
}

TEST_CASE("exact quotients stay exact and others are rounded up") {
    CHECK(meshscope::time::transfer_ns(220, 100e6) == 2200);
    CHECK(meshscope::time::transfer_ns(1, 3e9) == 1);
    CHECK(meshscope::time::transfer_ns(0, 3e9) == 0);
    CHECK(meshscope::time::transfer_ns(3, 3e9) == 1);
    CHECK(meshscope::time::transfer_ns(4, 3e9) == 2);
    CHECK(meshscope::time::transfer_ns(std::numeric_limits<int64_t>::max(), 1e-3) == int64_t{1} << 50);
    CHECK(meshscope::time::transfer_ns(1000000000000, 1e9) == 1000000000000);
}

TEST_CASE("the measured clock is the record, and a step spans all its ranks' events") {
    HandMade made(2);
    made.compute(0, 1, 0, 0);
    made.compute(1, 1, 0, 1);
    made.compute(0, 1, 0, 1);
    made.event(0, 0).t_begin_ns = 3;
    made.event(0, 0).t_end_ns = 8;
    made.event(1, 0).t_begin_ns = 20;
    made.event(1, 0).t_end_ns = 31;
    made.event(0, 1).t_begin_ns = 12;
    made.event(0, 1).t_end_ns = 14;
    const Clock clock = meshscope::time::measured(made.trace);
    check_interval(clock.events[0][0], 3, 8);
    CHECK(clock.end_ns == 31);
    check_interval(meshscope::time::span_of_step(made.trace, clock, 1), 12, 31);
    check_interval(meshscope::time::span_of_step(made.trace, clock, 2), 0, 0);
}
