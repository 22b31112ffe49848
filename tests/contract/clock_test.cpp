// The all_reduce algorithms, really run on threads, then timed on the modelled clock: the costs of the
// literature to the nanosecond. Thakur, Rabenseifner, Gropp 2005, sections 4.4 and 4.5; α = 100 ns, β = 2 ns
// a byte, γ = 1 ns a byte.
#include "core/time/clock.h"

#include <array>
#include <bit>
#include <numeric>

#include "core/comm/choice.h"
#include "core/time/profile.h"
#include "tests/contract/harness.h"
#include "tests/test.h"

using namespace meshscope;
using namespace meshscope::contract;

namespace {

constexpr int64_t kAlpha = 100, kBeta = 2, kGamma = 1;

time::Profile profile() {
    time::Profile p;
    p.name = "alpha beta gamma";
    p.flops_per_s = p.memory_bytes_per_s = 1e9;
    p.latency_inside_ns = p.latency_between_ns = kAlpha;
    p.bandwidth_inside_bytes_per_s = p.bandwidth_between_bytes_per_s = 5e8;
    p.reduce_bytes_per_s = 1e9;
    return p;
}

/// The record of one collective on p ranks, of n float32 a full buffer. Without hops: as a trace of level
/// collectives.
trace::Trace one(CollectiveOp op, int32_t p, int64_t n, Algorithm algorithm, bool hops,
                 const std::vector<int32_t>& node_of = {}) {
    std::vector<trace::RankRecord> records;
    run_ranks(
        "threads", p, Mode::inline_in_wait,
        [&](Rank& rank) {
            rank.recorder.set_step(0);
            comm::CallOptions options;
            options.algorithm = algorithm;
            const auto world = rank.world(Algorithm::ring, node_of);
            if (op == CollectiveOp::all_gather)
                world->all_gather(rank.zeros(n), rank.zeros(n / p), {}, options).wait();
            else if (op == CollectiveOp::reduce_scatter)
                world->reduce_scatter(rank.zeros(n / p), rank.zeros(n), ReduceOp::sum, {}, options).wait();
            else if (op == CollectiveOp::broadcast)
                world->broadcast(rank.zeros(n), GroupRank{p / 2}, options).wait();
            else if (op == CollectiveOp::all_to_all)
                world->all_to_all(rank.zeros(n), rank.zeros(n), {}, {}, options).wait();
            else
                world->all_reduce(rank.zeros(n), ReduceOp::sum, options).wait();
            return 0;
        },
        &records);
    trace::RunInfo info;
    info.world_size = p;
    info.steps = 1;
    info.level = hops ? trace::Level::values : trace::Level::collectives;
    trace::Group group;
    group.mesh_dim = "dim";
    for (int32_t r = 0; r < p; ++r) {
        group.ranks.push_back(r);
        info.node_of_rank.push_back(node_of.empty() ? 0 : node_of[static_cast<std::size_t>(r)]);
    }
    if (!hops)
        for (trace::RankRecord& record : records) {
            record.hops.clear();
            record.pieces.clear();
        }
    return trace::merge(info, {group}, std::move(records));
}

trace::Trace all_reduce(int32_t p, int64_t n, Algorithm algorithm, bool hops) {
    return one(CollectiveOp::all_reduce, p, n, algorithm, hops);
}

int64_t lg(int32_t p) {
    int64_t steps = 0;
    for (int32_t reach = 1; reach < p; reach *= 2) ++steps;
    return steps;
}

/// The textbook's time for p = 2^k ranks and n bytes that p divides.
int64_t textbook(Algorithm algorithm, int32_t p, int64_t n) {
    const int64_t parts = n / p * (p - 1);
    switch (algorithm) {
        case Algorithm::ring:
            return 2 * (p - 1) * kAlpha + 2 * parts * kBeta + parts * kGamma;
        case Algorithm::recursive_doubling:
            return lg(p) * (kAlpha + n * kBeta + n * kGamma);
        case Algorithm::halving_doubling:
        case Algorithm::swing:
            return 2 * lg(p) * kAlpha + 2 * parts * kBeta + parts * kGamma;
        case Algorithm::tree:
            return 2 * lg(p) * (kAlpha + n * kBeta) + lg(p) * n * kGamma;
        case Algorithm::double_tree: {  // four chunks a half, one every two rounds, the first up in 2 lg p -
                                        // 1; two ranks: one a round
            const int64_t rounds = p == 2 ? 4 : 2 * 3 + 2 * lg(p) - 1;
            return rounds * (2 * kAlpha + n / 8 * (2 * kBeta + kGamma));
        }
        case Algorithm::two_level: {  // 2 ranks in one block, 4 in two of 2, 8 in two of 4
            const int64_t inside = p == 8 ? 4 : 2, nodes = p / inside;
            return 2 * (inside - 1) * (kAlpha + n / inside * kBeta) + (inside - 1) * n / inside * kGamma +
                   2 * (nodes - 1) * (kAlpha + n / p * kBeta) + (nodes - 1) * n / p * kGamma;
        }
        case Algorithm::double_ring: {  // one ring of 2 ranks, two of 4, four of 8: all through one port
            const int64_t rings = p == 2 ? 1 : p / 2;
            return 2 * (p - 1) * rings * kAlpha + 2 * parts * kBeta + parts * kGamma;
        }
        case Algorithm::star:  // the root's one port takes every hop
            return 2 * (p - 1) * (kAlpha + n * kBeta) + (p - 1) * n * kGamma;
        default:
            FAIL("what " << name(algorithm) << " costs by its source has to be told here");
            return 0;
    }
}

}  // namespace

TEST_CASE(
    "on the modelled clock an all_reduce that ran takes what the literature says, with hops and without") {
    for (const int32_t p : {2, 4, 8})
        for (const Algorithm algorithm : comm::algorithms_of(CollectiveOp::all_reduce)) {
            if (algorithm == Algorithm::direct) continue;  // one round or two, by the size
            for (const int64_t n : {int64_t{32}, int64_t{3360}}) {
                INFO(name(algorithm) << " p=" << p << " n=" << n);
                const int64_t expected = textbook(algorithm, p, 4 * n);
                CHECK(time::modelled(all_reduce(p, n, algorithm, true), profile()).end_ns == expected);
                CHECK(time::modelled(all_reduce(p, n, algorithm, false), profile()).end_ns == expected);
            }
        }
}

TEST_CASE(
    "a double tree's rounds are never fewer on the clock than its schedule has, but by those nobody waits "
    "for") {
    for (const int32_t p : {3, 5, 6, 7, 11}) {
        INFO(p << " ranks");
        const int64_t with =
            time::modelled(all_reduce(p, 840, Algorithm::double_tree, true), profile()).end_ns;
        const int64_t without =
            time::modelled(all_reduce(p, 840, Algorithm::double_tree, false), profile()).end_ns;
        CHECK(with <= without);
        CHECK(without - with <=
              2 * (2 * kAlpha + 420 * (2 * kBeta + kGamma)));  // at most two rounds each way
    }
}

TEST_CASE("ranks that are no power of two pay a round before and a round after, with n bytes each") {
    for (const int32_t p : {3, 5, 6, 7}) {
        const int32_t q = p < 4 ? 2 : 4;
        const int64_t n = 4 * 840;
        const int64_t folding = 2 * (kAlpha + n * kBeta) + n * kGamma;
        for (const Algorithm algorithm :
             {Algorithm::recursive_doubling, Algorithm::halving_doubling, Algorithm::swing})
            for (const bool hops : {true, false}) {
                INFO(name(algorithm) << " p=" << p << (hops ? " hops" : " formula"));
                CHECK(time::modelled(all_reduce(p, 840, algorithm, hops), profile()).end_ns ==
                      textbook(algorithm, q, n) + folding);
            }
    }
}

namespace {

/// Time of one collective of p parts of `part` bytes, as its card states it.
int64_t stated(CollectiveOp op, Algorithm algorithm, int32_t p, int64_t part) {
    const int64_t up = std::bit_width(static_cast<uint32_t>(p - 1)), n = p * part;
    switch (op) {
        case CollectiveOp::all_gather:
            return (algorithm == Algorithm::ring ? p - 1 : up) * kAlpha + (p - 1) * part * kBeta;
        case CollectiveOp::reduce_scatter:  // p a power of two
            return (algorithm == Algorithm::ring ? p - 1 : up) * kAlpha + (p - 1) * part * (kBeta + kGamma);
        case CollectiveOp::broadcast:
            if (algorithm == Algorithm::ring_pipeline)
                return (p + 2) * (kAlpha + n / 4 * kBeta);  // four chunks
            return (up + p - 1) * kAlpha + 2 * (p - 1) * part * kBeta;
        default: {
            if (algorithm == Algorithm::pairwise) return (p - 1) * (kAlpha + part * kBeta);
            int64_t ones = 0;
            for (int32_t i = 1; i < p; ++i) ones += std::popcount(static_cast<uint32_t>(i));
            return up * kAlpha + ones * part * kBeta;
        }
    }
}

struct Way {
    CollectiveOp op;
    Algorithm algorithm;
    bool any_size;  ///< the card's formula holds for every p; else for powers of two
};

}  // namespace

TEST_CASE("the other collectives take on the modelled clock what their cards state, with hops and without") {
    constexpr std::array kWays{Way{CollectiveOp::all_gather, Algorithm::ring, true},
                               Way{CollectiveOp::all_gather, Algorithm::recursive_doubling, false},
                               Way{CollectiveOp::all_gather, Algorithm::bruck, true},
                               Way{CollectiveOp::reduce_scatter, Algorithm::ring, true},
                               Way{CollectiveOp::reduce_scatter, Algorithm::recursive_halving, false},
                               Way{CollectiveOp::broadcast, Algorithm::ring_pipeline, true},
                               Way{CollectiveOp::broadcast, Algorithm::scatter_all_gather, true},
                               Way{CollectiveOp::all_to_all, Algorithm::pairwise, true},
                               Way{CollectiveOp::all_to_all, Algorithm::bruck, true}};
    for (const int32_t p : {2, 3, 4, 5, 6, 7, 8, 11})
        for (const Way& way : kWays) {
            if (!way.any_size && !std::has_single_bit(static_cast<uint32_t>(p))) continue;
            for (const bool hops : {true, false}) {
                INFO(name(way.op) << " " << name(way.algorithm) << " p=" << p
                                  << (hops ? " hops" : " formula"));
                const auto trace = one(way.op, p, 100 * p, way.algorithm, hops);
                CHECK(time::modelled(trace, profile()).end_ns == stated(way.op, way.algorithm, p, 400));
            }
        }
}

TEST_CASE(
    "a folded reduce_scatter pays a round of n before and of one part after: the formula knows it to the "
    "byte") {
    for (const int32_t p : {3, 5, 6, 7, 11}) {
        INFO(p << " ranks");
        const auto way = [&](bool hops) {
            const auto trace =
                one(CollectiveOp::reduce_scatter, p, 100 * p, Algorithm::recursive_halving, hops);
            return time::modelled(trace, profile()).end_ns;
        };
        const int64_t steps = std::bit_width(static_cast<uint32_t>(p)) - 1;
        CHECK(way(true) == way(false));
        CHECK(way(true) >= (steps + 2) * kAlpha + (p * 400) * (kBeta + kGamma) + 400 * kBeta);
    }
}

TEST_CASE(
    "two levels spare the slow links: what crosses between nodes, and what it costs, is what the card "
    "states") {
    time::Profile slow = profile();
    slow.latency_between_ns = 1000;
    slow.bandwidth_between_bytes_per_s = 1e8;  // 10 ns a byte
    const int32_t inside = 4, nodes = 2, p = 8;
    const std::vector<int32_t> node_of{0, 0, 0, 0, 1, 1, 1, 1};
    const int64_t n = 4 * 840;
    const int64_t expected = 2 * (inside - 1) * (kAlpha + n / inside * kBeta) +
                             (inside - 1) * n / inside * kGamma + 2 * (nodes - 1) * (1000 + n / p * 10) +
                             (nodes - 1) * n / p * kGamma;
    for (const bool hops : {true, false}) {
        const auto trace = one(CollectiveOp::all_reduce, p, 840, Algorithm::two_level, hops, node_of);
        CHECK(time::modelled(trace, slow).end_ns == expected);
        int64_t between = 0, all = 0;
        for (const trace::RankTrace& rank : trace.ranks)
            for (const trace::Hop& hop : rank.hops) {
                all += hop.bytes;
                if (node_of[static_cast<std::size_t>(hop.src)] != node_of[static_cast<std::size_t>(hop.dst)])
                    between += hop.bytes;
            }
        // Each of 8 ranks sends 2n(N-1)/(kN) between: n/4; and 2n(k-1)/k inside: 3n/2.
        if (hops) CHECK(between == 8 * n / 4);
        if (hops) CHECK(all - between == 8 * 3 * n / 2);
    }
    // The one ring through both nodes sends 2n(p-1)/p over each of the two links between them.
    CHECK(time::modelled(one(CollectiveOp::all_reduce, p, 840, Algorithm::ring, true, node_of), slow).end_ns >
          expected);
    // Uneven nodes: with hops and by formula alike to within the rounding of pieces.
    const std::vector<int32_t> uneven{0, 0, 0, 1, 1};
    CHECK(time::modelled(one(CollectiveOp::all_reduce, 5, 840, Algorithm::two_level, true, uneven), slow)
              .end_ns ==
          time::modelled(one(CollectiveOp::all_reduce, 5, 840, Algorithm::two_level, false, uneven), slow)
              .end_ns);
}

TEST_CASE("two levels gather and reduce as their card states: once over each node's links, side by side") {
    time::Profile slow = profile();
    slow.latency_between_ns = 1000;
    slow.bandwidth_between_bytes_per_s = 1e8;  // 10 ns a byte
    const int64_t inside = 4, nodes = 2, part = 4 * 105;
    const std::vector<int32_t> node_of{0, 0, 0, 0, 1, 1, 1, 1};
    const int64_t gathers = (nodes - 1) * (1000 + part * 10) + (inside - 1) * (kAlpha + nodes * part * kBeta);
    const int64_t reduces = (inside - 1) * (kAlpha + nodes * part * (kBeta + kGamma)) +
                            (nodes - 1) * (1000 + part * (10 + kGamma));
    for (const bool hops : {true, false}) {
        INFO((hops ? "hops" : "formula"));
        const auto took = [&](CollectiveOp op, Algorithm algorithm) {
            return time::modelled(one(op, 8, 840, algorithm, hops, node_of), slow).end_ns;
        };
        CHECK(took(CollectiveOp::all_gather, Algorithm::two_level) == gathers);
        CHECK(took(CollectiveOp::reduce_scatter, Algorithm::two_level) == reduces);
        // The one ring takes a part over one slow link in each of its seven rounds.
        CHECK(took(CollectiveOp::all_gather, Algorithm::ring) == 7 * (1000 + part * 10));
    }
}
