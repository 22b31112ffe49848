#include "core/time/hops.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <tuple>

namespace meshscope::time {

std::vector<int64_t> time_hops(std::span<TimedHop> hops, int32_t members, int64_t begin_ns) {
    const auto distance = [members](const TimedHop& hop) { return (hop.dst - hop.src + members) % members; };
    std::vector<TimedHop*> order;
    order.reserve(hops.size());
    for (TimedHop& hop : hops) order.push_back(&hop);
    std::stable_sort(order.begin(), order.end(), [&distance](const TimedHop* a, const TimedHop* b) {
        return std::tuple(a->round, distance(*a), a->src) < std::tuple(b->round, distance(*b), b->src);
    });

    const auto p = static_cast<size_t>(members);
    std::vector<int64_t> send_free(p, begin_ns);
    std::vector<int64_t> receive_free(p, begin_ns);
    std::vector<int64_t> holds(p, begin_ns);  // when a member had received all of the rounds before
    for (size_t i = 0; i < order.size(); ++i) {
        TimedHop& hop = *order[i];
        if (i > 0 && order[i - 1]->round != hop.round) holds = receive_free;
        const auto src = static_cast<size_t>(hop.src);
        const auto dst = static_cast<size_t>(hop.dst);
        hop.time.begin_ns = std::max({holds[src], send_free[src], receive_free[dst]});
        hop.time.end_ns = hop.time.begin_ns + hop.duration_ns;
        send_free[src] = hop.time.end_ns;
        receive_free[dst] = hop.time.end_ns;
    }
    for (size_t i = 0; i < p; ++i) send_free[i] = std::max(send_free[i], receive_free[i]);
    return send_free;
}

int64_t formula_ns(const Profile& profile, const trace::Event& event, std::span<const int64_t> sent_bytes,
                   bool between_nodes) {
    const auto p = static_cast<int64_t>(sent_bytes.size());
    const bool tree = event.algorithm == Algorithm::tree;
    int64_t rounds = p - 1;
    if (event.op == CollectiveOp::send || event.op == CollectiveOp::recv) rounds = 1;
    if (event.op == CollectiveOp::all_reduce && event.algorithm == Algorithm::ring) rounds = 2 * (p - 1);
    if (tree) rounds = std::bit_width(static_cast<uint64_t>(p - 1));

    int64_t bytes = *std::max_element(sent_bytes.begin(), sent_bytes.end());
    // Here the busiest port is the root's receiving one, which sent_bytes does not show.
    if (event.op == CollectiveOp::reduce && tree) bytes *= rounds;
    if ((event.op == CollectiveOp::reduce || event.op == CollectiveOp::gather) && !tree) {
        bytes = std::accumulate(sent_bytes.begin(), sent_bytes.end(), int64_t{0});
    }
    const int64_t latency = hop_ns(profile, 0, between_nodes);
    return rounds * latency + hop_ns(profile, bytes, between_nodes) - latency;
}

}  // namespace meshscope::time
