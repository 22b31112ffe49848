#include "app/gui/view/collective_state.h"

#include <vector>

#include "app/gui/view/collective_layout.h"
#include "tests/test.h"
#include "tests/view/toy.h"

using namespace meshscope;
using view::collective_after;
using view::collective_state;

namespace {

// What the definition says member m's result is, cut out of the shown buffer.
std::vector<float> result_of(const view::CollectiveState& state, std::size_t m) {
    std::vector<float> out;
    const auto& b = state.buffers[m];
    for (const auto& p : b.pieces)
        if (view::is_result(state, m, p))
            out.insert(out.end(), b.values.begin() + p.offset, b.values.begin() + p.offset + p.elements);
    return out;
}

// 10·rank + i + 1, by the definition of the collective.
std::vector<float> expected(CollectiveOp op, int32_t n, int64_t elements, std::size_t m) {
    std::vector<float> out;
    const auto value = [](int64_t rank, int64_t i) { return static_cast<float>(10 * rank + i + 1); };
    const auto sum = [&](int64_t i) {
        float s = 0;
        for (int64_t r = 0; r < n; ++r) s += value(r, i);
        return s;
    };
    switch (op) {
        case CollectiveOp::all_gather:
            for (int64_t r = 0; r < n; ++r)
                for (int64_t i = 0; i < elements; ++i) out.push_back(value(r, i));
            break;
        case CollectiveOp::reduce_scatter:
            for (int64_t i = 0; i < elements / n; ++i)
                out.push_back(sum(static_cast<int64_t>(m) * (elements / n) + i));
            break;
        case CollectiveOp::broadcast:
            for (int64_t i = 0; i < elements; ++i) out.push_back(value(0, i));
            break;
        default:
            for (int64_t i = 0; i < elements; ++i) out.push_back(sum(i));
    }
    return out;
}

}  // namespace

TEST_CASE("replaying every hop gives the collective's definition and the recorded output") {
    const auto op =
        GENERATE(CollectiveOp::all_gather, CollectiveOp::reduce_scatter, CollectiveOp::all_reduce);
    const auto algorithm = GENERATE(Algorithm::ring, Algorithm::direct);
    const auto n = GENERATE(2, 3, 4, 7);
    const auto trace = test::one_collective(op, algorithm, n, 4 * n);
    const auto instances = trace::collectives(trace);
    REQUIRE(instances.size() == 1);
    const auto state = collective_after(trace, instances[0], 1000);
    REQUIRE(state.finished);
    for (std::size_t m = 0; m < static_cast<std::size_t>(n); ++m) {
        const auto want = expected(op, n, 4 * n, m);
        CHECK(result_of(state, m) == want);
        const auto& rank = trace.ranks[m];
        const auto& output = rank.snapshots.back();
        REQUIRE(output.kind == trace::SnapshotKind::output);
        CHECK(std::vector<float>(rank.values.begin() + output.values,
                                 rank.values.begin() + output.values + output.elements) == want);
        for (const auto& piece : state.buffers[m].pieces)
            if (view::is_result(state, m, piece) && op != CollectiveOp::all_gather)
                CHECK(piece.from_count == n);
    }
}

TEST_CASE("a tree's hops and an uneven cut replay exactly too") {
    SECTION("tree all_reduce of 5") {
        const auto trace = test::one_collective(CollectiveOp::all_reduce, Algorithm::tree, 5, 3);
        const auto state = collective_after(trace, trace::collectives(trace)[0], 1000);
        for (std::size_t m = 0; m < 5; ++m)
            CHECK(result_of(state, m) == expected(CollectiveOp::all_reduce, 5, 3, m));
    }
    SECTION("broadcast to 6") {
        const auto trace = test::one_collective(CollectiveOp::broadcast, Algorithm::tree, 6, 3);
        const auto state = collective_after(trace, trace::collectives(trace)[0], 1000);
        for (std::size_t m = 0; m < 6; ++m)
            CHECK(result_of(state, m) == expected(CollectiveOp::broadcast, 6, 3, m));
    }
    SECTION("ring all_reduce of 7 numbers on 4 ranks") {
        const auto trace = test::one_collective(CollectiveOp::all_reduce, Algorithm::ring, 4, 7);
        const auto state = collective_after(trace, trace::collectives(trace)[0], 1000);
        for (std::size_t m = 0; m < 4; ++m)
            CHECK(result_of(state, m) == expected(CollectiveOp::all_reduce, 4, 7, m));
    }
}

TEST_CASE("a tree hangs from its root, also where the sums go up by another one than the result comes down") {
    const auto trace = test::one_collective(CollectiveOp::all_reduce, Algorithm::tree, 8, 3);
    const auto state = collective_after(trace, trace::collectives(trace)[0], 0);
    // Up a member clears the lowest bit of its number, down it came from the one without its highest.
    CHECK(view::tree_depths(state) == std::vector<int32_t>{0, 1, 1, 2, 1, 2, 2, 3});
    const auto place = view::lay_out_group(state, {0, 0, 600, 200});
    for (std::size_t m = 1; m < 8; ++m) CHECK(place.members[m].y > place.members[0].y);
    CHECK(place.members[3].y == place.members[6].y);
    // Each rank stands over those that send their sums to it, and no two stand on each other.
    const auto middle = [&](std::size_t m) { return place.members[m].x + place.members[m].w / 2; };
    CHECK(place.tree);
    CHECK(middle(2) == middle(3));
    CHECK(middle(6) == middle(7));
    CHECK(middle(4) == Approx((middle(5) + middle(6)) / 2));
    for (std::size_t a = 0; a < 8; ++a)
        for (std::size_t b = 0; b < a; ++b)
            CHECK((place.members[a].y != place.members[b].y ||
                   std::abs(middle(a) - middle(b)) >= place.members[a].w + place.buffers[a].w));
    // A hop runs straight from one level to the next.
    const auto path = view::hop_path(place, 6, 4);
    CHECK(path.a.y < place.members[6].y);
    CHECK(path.d.y > place.members[4].y + place.members[4].h);
    const auto ring = test::one_collective(CollectiveOp::all_reduce, Algorithm::ring, 8, 8);
    CHECK(view::tree_depths(collective_after(ring, trace::collectives(ring)[0], 0)).empty());
}

TEST_CASE("half way round the ring each chunk holds the ranks it has passed") {
    // The ring of 4 after its third hop: rank r holds chunk r complete (reduce_scatter's end), and of the
    // chunk that began beside it only two or three ranks' parts.
    const auto trace = test::one_collective(CollectiveOp::all_reduce, Algorithm::ring, 4, 8);
    const auto instance = trace::collectives(trace)[0];
    CHECK(collective_after(trace, instance, 0).rounds == 6);
    for (int32_t rounds = 0; rounds <= 3; ++rounds) {
        const auto state = collective_after(trace, instance, rounds);
        for (std::size_t m = 0; m < 4; ++m) {
            int32_t most = 0;
            for (const auto& piece : state.buffers[m].pieces) most = std::max(most, piece.from_count);
            CHECK(most == rounds + 1);
            // 2 elements of 4 bytes a hop.
            CHECK(state.buffers[m].sent_bytes == rounds * 8);
        }
    }
    const auto third = collective_after(trace, instance, 3);
    for (std::size_t m = 0; m < 4; ++m) CHECK(third.buffers[m].pieces[m].from == 0xF);
}

TEST_CASE("at the cursor a hop is on its way between its begin and its end") {
    const auto trace = test::one_collective(CollectiveOp::all_gather, Algorithm::ring, 3, 2);
    const auto instance = trace::collectives(trace)[0];
    const auto clock = time::modelled(trace, time::classroom());
    const auto whole = clock.events[0][0];
    const auto middle = clock.hops[0][0].begin_ns + (clock.hops[0][0].end_ns - clock.hops[0][0].begin_ns) / 2;
    const auto state = collective_state(trace, clock, instance, middle);
    CHECK(state.begun);
    CHECK_FALSE(state.finished);
    CHECK(state.round == 0);
    int flying = 0;
    for (const auto& h : state.hops) {
        flying += h.flying ? 1 : 0;
        CHECK(h.landed == false);
        if (h.flying) CHECK(h.progress == Approx(0.5).margin(0.01));
    }
    CHECK(flying == 3);
    for (const auto& b : state.buffers) CHECK(b.sent_bytes == 4);  // one element of two
    const auto after = collective_state(trace, clock, instance, whole.end_ns);
    CHECK(after.finished);
    CHECK(after.round == after.rounds);
    for (const auto& b : after.buffers) CHECK(b.sent_bytes == 16);
    const auto before = collective_state(trace, clock, instance, whole.begin_ns - 1);
    CHECK_FALSE(before.begun);
    for (const auto& b : before.buffers) CHECK(b.sent_bytes == 0);
}

TEST_CASE("an average shows its recorded output once the event has ended") {
    const auto trace = test::one_collective(CollectiveOp::all_reduce, Algorithm::ring, 4, 4, ReduceOp::avg);
    const auto clock = time::modelled(trace, time::classroom());
    const auto state = collective_state(trace, clock, trace::collectives(trace)[0], clock.end_ns);
    // mean of 1, 11, 21, 31
    CHECK(state.buffers[2].values == std::vector<float>{16, 17, 18, 19});
}

TEST_CASE("the shard groups of an HSDP mesh make the same call side by side") {
    const auto trace = test::toy_hsdp();
    REQUIRE(trace.ranks[0].events[0].op == CollectiveOp::all_gather);
    const auto both = view::parallel_instances(trace, 0, 0);
    REQUIRE(both.size() == 2);
    CHECK(both[0].ranks == std::vector<int32_t>{0, 1});
    CHECK(both[1].ranks == std::vector<int32_t>{2, 3});
    CHECK(view::parallel_instances(trace, 0, 1).empty());  // a compute event
}

TEST_CASE("where one round brings a chunk from several ranks it is summed in rank order") {
    // In float32 1e8 + 1 - 1e8 is 0 but 1e8 - 1e8 + 1 is 1: the order shows.
    test::TraceBuilder builder({3}, {"shard"});
    const int32_t group = builder.add_dim_groups(0)[0];
    test::TraceBuilder::Call call;
    call.op = CollectiveOp::reduce_scatter;
    call.algorithm = Algorithm::direct;
    builder.collective(group, call, {{1e8F, 1e8F, 1e8F}, {1, 1, 1}, {-1e8F, -1e8F, -1e8F}});
    const auto trace = builder.take();
    const auto state = collective_after(trace, trace::collectives(trace)[0], 1);
    for (std::size_t m = 0; m < 3; ++m) CHECK(result_of(state, m) == std::vector<float>{0});
}
