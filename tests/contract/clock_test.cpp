// The all_reduce algorithms, really run on threads, then timed on the modelled clock: the costs of the
// literature to the nanosecond. Thakur, Rabenseifner, Gropp 2005, sections 4.4 and 4.5; α = 100 ns, β = 2 ns
// a byte, γ = 1 ns a byte.
#include "core/time/clock.h"

#include <array>

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

/// The record of one all_reduce of n float32 on p ranks. Without hops: as a trace of level collectives.
trace::Trace all_reduce(int32_t p, int64_t n, Algorithm algorithm, bool hops) {
    std::vector<trace::RankRecord> records;
    run_ranks(
        "threads", p, Mode::inline_in_wait,
        [&](Rank& rank) {
            rank.recorder.set_step(0);
            comm::CallOptions options;
            options.algorithm = algorithm;
            rank.world()->all_reduce(rank.zeros(n), ReduceOp::sum, options).wait();
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
        info.node_of_rank.push_back(0);
    }
    if (!hops)
        for (trace::RankRecord& record : records) record.hops.clear();
    return trace::merge(info, {group}, std::move(records));
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
            return 2 * lg(p) * kAlpha + 2 * parts * kBeta + parts * kGamma;
        case Algorithm::tree:
            return 2 * lg(p) * (kAlpha + n * kBeta) + lg(p) * n * kGamma;
        default:  // star: the root's one port takes every hop
            return 2 * (p - 1) * (kAlpha + n * kBeta) + (p - 1) * n * kGamma;
    }
}

constexpr std::array kAlgorithms{Algorithm::ring, Algorithm::recursive_doubling, Algorithm::halving_doubling,
                                 Algorithm::tree, Algorithm::star};

}  // namespace

TEST_CASE(
    "on the modelled clock an all_reduce that ran takes what the literature says, with hops and without") {
    for (const int32_t p : {2, 4, 8})
        for (const Algorithm algorithm : kAlgorithms)
            for (const int64_t n : {int64_t{8}, int64_t{840}}) {
                INFO(name(algorithm) << " p=" << p << " n=" << n);
                const int64_t expected = textbook(algorithm, p, 4 * n);
                CHECK(time::modelled(all_reduce(p, n, algorithm, true), profile()).end_ns == expected);
                CHECK(time::modelled(all_reduce(p, n, algorithm, false), profile()).end_ns == expected);
            }
}

TEST_CASE("ranks that are no power of two pay a round before and a round after, with n bytes each") {
    for (const int32_t p : {3, 5, 6, 7}) {
        const int32_t q = p < 4 ? 2 : 4;
        const int64_t n = 4 * 840;
        const int64_t folding = 2 * (kAlpha + n * kBeta) + n * kGamma;
        for (const Algorithm algorithm : {Algorithm::recursive_doubling, Algorithm::halving_doubling})
            for (const bool hops : {true, false}) {
                INFO(name(algorithm) << " p=" << p << (hops ? " hops" : " formula"));
                CHECK(time::modelled(all_reduce(p, 840, algorithm, hops), profile()).end_ns ==
                      textbook(algorithm, q, n) + folding);
            }
    }
}
