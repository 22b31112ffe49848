#include "core/time/hops.h"

#include <algorithm>
#include <bit>
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

int64_t formula_ns(const Profile& profile, const Unrecorded& collective) {
    constexpr int64_t kOneRoundBytes = 4096;  // comm::kDirectOneRoundBytes, which this room does not see
    const trace::Event& event = *collective.event;
    const int64_t others = collective.members - 1;
    const int64_t rounds = std::bit_width(static_cast<uint64_t>(others));  // ⌈lg p⌉
    const int64_t n = collective.full_bytes;
    const int64_t part = n / collective.members;
    const bool tree = event.algorithm == Algorithm::tree;
    // Those that pair ranks by bits: 2^steps places, and the rest folded into them.
    const int64_t steps = std::bit_width(static_cast<uint64_t>(collective.members)) - 1;
    const int64_t places = int64_t{1} << steps;
    const int64_t folds = places == collective.members ? 0 : 1;
    int64_t hops = others, moved = collective.sent_bytes, reduced = 0;
    switch (event.op) {
        case CollectiveOp::all_reduce:
            if (event.algorithm == Algorithm::tree || event.algorithm == Algorithm::star) {
                reduced = (tree ? rounds : others) * n;
                hops = 2 * (tree ? rounds : others);
                moved = 2 * reduced;
            } else if (event.algorithm == Algorithm::recursive_doubling) {
                hops = steps + 2 * folds;
                moved = hops * n;
                reduced = (steps + folds) * n;
            } else if (event.algorithm == Algorithm::halving_doubling) {
                hops = 2 * steps + 2 * folds;
                reduced = n / places * (places - 1) + folds * n;
                moved = 2 * reduced;
            } else if (event.algorithm == Algorithm::direct && n <= kOneRoundBytes) {
                reduced = others * n;
            } else {
                hops = 2 * others;
                reduced = others * part;
            }
            break;
        case CollectiveOp::reduce_scatter:
            reduced = others * part;
            break;
        case CollectiveOp::broadcast:
        case CollectiveOp::reduce:
            hops = tree ? rounds : others;
            moved = hops * n;
            if (event.op == CollectiveOp::reduce) reduced = moved;
            break;
        case CollectiveOp::gather:
        case CollectiveOp::scatter:
            moved = others * part;
            break;
        case CollectiveOp::barrier:
            if (tree) hops = 2 * rounds;
            moved = 0;
            break;
        case CollectiveOp::send:
        case CollectiveOp::recv:
            hops = 1;
            moved = n;
            break;
        case CollectiveOp::all_gather:
        case CollectiveOp::all_to_all:
            break;
    }
    const int64_t latency = hop_ns(profile, 0, collective.link);
    const int64_t sums =
        hop_ns(profile, reduced, collective.link, true) - hop_ns(profile, reduced, collective.link);
    return hops * latency + hop_ns(profile, moved, collective.link) - latency + sums;
}

}  // namespace meshscope::time
