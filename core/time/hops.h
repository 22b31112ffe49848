#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/time/clock.h"
#include "core/time/profile.h"
#include "core/trace/trace.h"

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

/// A collective whose hops were not recorded, by formula: rounds × latency + bytes / bandwidth.
/// `sent_bytes` is what each member sent; `between_nodes`: some members stand on different nodes.
int64_t formula_ns(const Profile& profile, const trace::Event& event, std::span<const int64_t> sent_bytes,
                   bool between_nodes);

}  // namespace meshscope::time
