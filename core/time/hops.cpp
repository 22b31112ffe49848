#include "core/time/hops.h"

#include <algorithm>
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

}  // namespace meshscope::time
