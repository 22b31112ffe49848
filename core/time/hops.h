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

/// A collective whose hops were not recorded, as far as its members' events tell.
struct Unrecorded {
    const trace::Event* event = nullptr;  ///< a member's
    int32_t members = 1;
    int64_t sent_bytes = 0;        ///< the most that a member sent
    int64_t full_bytes = 0;        ///< the whole buffer: the largest input or output of a member
    Link link;                     ///< the slowest kind in the group
    std::vector<int32_t> node_of;  ///< the members' nodes; as NodeLevels takes them
};

// clang-format off
/// Its time by formula, α for each hop through the busiest port, β and γ for the bytes through it:
///
/// | | α | β | γ |
/// | --- | --- | --- | --- |
/// | ring all_reduce | 2(p-1) | 2n(p-1)/p | n(p-1)/p |
/// | tree all_reduce | 2⌈lg p⌉ | 2⌈lg p⌉·n | ⌈lg p⌉·n |
/// | star all_reduce | 2(p-1) | 2(p-1)·n | (p-1)·n |
/// | recursive doubling | lg q + 2f | (lg q + 2f)·n | (lg q + f)·n |
/// | halving-doubling | 2 lg q + 2f | 2n(q-1)/q + 2f·n | n(q-1)/q + f·n |
/// | double tree | 2R | 2R·c | R·c |
/// | two-level, inside | 2(K-1) | 2(K-1)·n/m | (K-1)·n/m |
/// | two-level, between | 2(N-1) | 2(N-1)·n/(mN) | (N-1)·n/(mN) |
/// | direct all_reduce up to direct_one_round_bytes() | p-1 | n(p-1) | n(p-1) |
/// | direct all_reduce beyond | 2(p-1) | 2n(p-1)/p | n(p-1)/p |
/// | all_gather; reduce_scatter | p-1 | n(p-1)/p | 0; n(p-1)/p |
/// | all_gather by doubling, Bruck | ⌈lg p⌉ | n(p-1)/p | 0 |
/// | reduce_scatter by halving | lg q + 2f | (h + f)·n, and f·n/p | (h + f)·n |
/// | ring pipeline broadcast | p-2+C | (p-2+C)·n/C | 0 |
/// | scatter + all_gather broadcast | ⌈lg p⌉ + p-1 | (s + (p-1)/p)·n | 0 |
/// | tree broadcast; reduce | ⌈lg p⌉ | ⌈lg p⌉·n | 0; ⌈lg p⌉·n |
/// | direct broadcast; reduce | p-1 | (p-1)·n | 0; (p-1)·n |
/// | gather, scatter, all_to_all | p-1 | n(p-1)/p | 0 |
/// | all_to_all by Bruck | ⌈lg p⌉ | n/p·(the ones in all numbers below p) | 0 |
/// | send, recv | 1 | n | 0 |
/// | barrier: tree; direct | 2⌈lg p⌉; p-1 | 0 | 0 |
///
/// (q the largest power of two ≤ p, f = 1 where p is another number, else 0. h: the shares that the first
/// place of q adds, (q-1)/q where f = 0. s: the shares that the root deals out one after the other, (p-1)/p.
/// N nodes of at most K and at least m ranks. R = DoubleTree's rounds, of chunks of c bytes; C
/// pipeline_chunks. n bytes the full buffer; where all_to_all, all_gather, reduce_scatter and all_reduce were
/// recorded, β counts the bytes that the record says.) Source: Thakur, Rabenseifner, Gropp 2005.
// clang-format on
int64_t formula_ns(const Profile& profile, const Unrecorded& collective);

}  // namespace meshscope::time
