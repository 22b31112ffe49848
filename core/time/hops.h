#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/time/clock.h"

namespace meshscope::time {

/// One hop of a collective to be timed, with its ranks as positions 0 … p-1 in the group.
struct TimedHop {
    int32_t round = 0;
    int32_t src = 0, dst = 0;
    int64_t duration_ns = 0;
    Interval time;  ///< filled in by time_hops
};

/// Places a collective's hops from `begin_ns` on, by the rules of modelled(): ports, rounds, nearest next
/// neighbour first. Returns, for each of `members` positions, the end of its last hop (begin_ns without any).
/// Cost: O(hops·log hops + members·rounds).
std::vector<int64_t> time_hops(std::span<TimedHop> hops, int32_t members, int64_t begin_ns);

}  // namespace meshscope::time
