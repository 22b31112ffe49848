#include "core/time/exposed.h"
#include "core/base/error.h"
#include "tests/test.h"
#include "tests/time/hand_made.h"

using meshscope::CollectiveOp;
using meshscope::Stream;
using meshscope::test::HandMade;
using meshscope::time::Clock;
using meshscope::time::Interval;

namespace {

void span(HandMade& made, int32_t rank, int32_t event, int64_t begin_ns, int64_t end_ns) {
    made.event(rank, event).t_begin_ns = begin_ns;
    made.event(rank, event).t_end_ns = end_ns;
}

std::vector<std::pair<int64_t, int64_t>> plain(const std::vector<Interval>& intervals) {
    std::vector<std::pair<int64_t, int64_t>> result;
    for (const Interval& interval : intervals) result.emplace_back(interval.begin_ns, interval.end_ns);
    return result;
}

using Plain = std::vector<std::pair<int64_t, int64_t>>;

}  // namespace

TEST_CASE("unite sorts, joins what touches or overlaps, and drops what is empty") {
    CHECK(plain(meshscope::time::unite({{5, 7}, {0, 2}, {2, 3}, {6, 9}, {20, 20}, {12, 13}})) ==
          Plain{{0, 3}, {5, 9}, {12, 13}});
    CHECK(meshscope::time::unite({}).empty());
}

TEST_CASE("subtract leaves what is not covered") {
    CHECK(plain(meshscope::time::subtract({{0, 10}, {20, 30}}, {{2, 4}, {8, 22}, {25, 26}})) ==
          Plain{{0, 2}, {4, 8}, {22, 25}, {26, 30}});
    CHECK(plain(meshscope::time::subtract({{0, 10}, {12, 14}}, {})) == Plain{{0, 10}, {12, 14}});
    CHECK(meshscope::time::subtract({{3, 5}, {6, 7}}, {{0, 9}}).empty());
}

TEST_CASE("exposed communication is when some communication stream is busy and nothing is computed") {
    // compute        ....4───10......14─16
    // all_gather     0─────6
    // all_reduce        3─────────12          (0–6 and 3–12 count once)
    // reduce_scatter             9──────15
    HandMade made(1);
    const int32_t group = made.group({0});
    made.compute(0, 1);
    made.compute(0, 1);
    made.collective(0, CollectiveOp::all_gather, group, 0, Stream::all_gather);
    made.collective(0, CollectiveOp::all_reduce, group, 1, Stream::all_reduce);
    made.collective(0, CollectiveOp::reduce_scatter, group, 2, Stream::reduce_scatter);
    span(made, 0, 0, 4, 10);
    span(made, 0, 1, 14, 16);
    span(made, 0, 2, 0, 6);
    span(made, 0, 3, 3, 12);
    span(made, 0, 4, 9, 15);
    const auto overlap = meshscope::time::overlap(made.trace, meshscope::time::measured(made.trace), 0);
    CHECK(plain(overlap.exposed) == Plain{{0, 4}, {10, 14}});
    CHECK(overlap.exposed_ns == 8);
    CHECK(overlap.communication_ns == 15);
    CHECK(overlap.hidden_ns == 7);
    CHECK(overlap.compute_ns == 8);
}

TEST_CASE("a collective on the compute stream hides behind nothing") {
    HandMade made(1);
    const int32_t group = made.group({0});
    made.compute(0, 1);
    made.collective(0, CollectiveOp::all_reduce, group, 0, Stream::compute);
    span(made, 0, 0, 0, 5);
    span(made, 0, 1, 5, 9);
    CHECK(meshscope::time::overlap(made.trace, meshscope::time::measured(made.trace), 0).exposed_ns == 4);
}

TEST_CASE("a copy on the copy stream is no computation: it hides nothing") {
    HandMade made(1);
    const int32_t group = made.group({0});
    made.compute(0, 1);
    made.event(0, 0).stream = Stream::copy;
    made.collective(0, CollectiveOp::all_gather, group, 0);
    span(made, 0, 0, 0, 5);
    span(made, 0, 1, 2, 9);
    const auto overlap = meshscope::time::overlap(made.trace, meshscope::time::measured(made.trace), 0);
    CHECK(overlap.exposed_ns == 7);
    CHECK(overlap.compute_ns == 0);
}

TEST_CASE("one step counts its own collectives, but any computation hides them") {
    HandMade made(1);
    const int32_t group = made.group({0});
    made.compute(0, 1, 0, 0);
    made.collective(0, CollectiveOp::all_gather, group, 0, Stream::all_gather, -1, 1);
    made.collective(0, CollectiveOp::all_gather, group, 1, Stream::all_gather, -1, 2);
    span(made, 0, 0, 0, 5);
    span(made, 0, 1, 3, 8);
    span(made, 0, 2, 8, 20);
    const auto overlap = meshscope::time::overlap(made.trace, meshscope::time::measured(made.trace), 0, 1);
    CHECK(plain(overlap.exposed) == Plain{{5, 8}});
    CHECK(overlap.communication_ns == 5);
    CHECK(overlap.compute_ns == 0);
}

TEST_CASE("the FSDP forward of two units exposes its first gather only") {
    // Worked out in modelled_test: gather A 0–120, compute A 120–620, gather B 120–240, compute B 620–720.
    HandMade made(2);
    const int32_t group = made.group({0, 1});
    made.ring(CollectiveOp::all_gather, group, 0, 1, 10);
    for (const int32_t r : {0, 1}) made.depend(r, made.compute(r, 500), 0);
    made.ring(CollectiveOp::all_gather, group, 1, 1, 10);
    for (const int32_t r : {0, 1}) made.depend(r, made.compute(r, 100), 2);
    meshscope::time::Profile profile = meshscope::time::classroom();
    profile.flops_per_s = 1e9;
    profile.latency_inside_ns = 100;
    profile.bandwidth_inside_bytes_per_s = 5e8;
    const Clock clock = meshscope::time::modelled(made.trace, profile);
    const auto overlap = meshscope::time::overlap(made.trace, clock, 1);
    CHECK(plain(overlap.exposed) == Plain{{0, 120}});
    CHECK(overlap.communication_ns == 240);
    CHECK(overlap.compute_ns == 600);
}

TEST_CASE("a bubble is never negative, though part of a step was computed before the span that counts") {
    HandMade made(1);
    made.compute(0, 1);
    made.compute(0, 1);
    span(made, 0, 0, 0, 6);
    span(made, 0, 1, 8, 12);
    const Clock clock = meshscope::time::measured(made.trace);
    const auto of = [&](const Interval& counted) {
        const auto bubble = meshscope::time::bubble(made.trace, clock, 0, 0, counted);
        CHECK(bubble.busy_ns == 10);
        return bubble.idle_ns;
    };
    CHECK(of({0, 12}) == 2);
    CHECK(of({2, 12}) == 0);
    CHECK(of({6, 12}) == 0);
    CHECK(meshscope::time::bubble(made.trace, clock, 0, 0).idle_ns == 2);
}

TEST_CASE("a rank that the trace does not hold is refused") {
    HandMade made(2);
    const Clock clock = meshscope::time::measured(made.trace);
    CHECK_THROWS_AS(meshscope::time::overlap(made.trace, clock, 2), meshscope::InvalidArgument);
    CHECK_THROWS_AS(meshscope::time::overlap(made.trace, clock, -1), meshscope::InvalidArgument);
}
