// Binomial tree broadcast: the ranks that have the data double every round.
//
// Ranks are renumbered v = r - root (around the group), so the root is 0.
//   round k: every v < 2^k that has the data sends all of it to v + 2^k, if there is such a rank
//
// Steps ceil(log2 p). Bytes: every rank but the root receives n once; the root sends n ceil(log2 p) times. In
// all p-1 hops. Source: Thakur, Rabenseifner, Gropp 2005, 4.2 (MPICH's short-message broadcast).
#include "core/comm/algorithms/algorithms.h"

namespace meshscope::comm {

void tree_broadcast(Wire& wire, int32_t root, std::byte* data, int64_t n) {
    const int32_t v = wire.of(wire.me() - root);
    int32_t round = 0;
    for (int32_t bit = 1; bit < wire.size(); bit *= 2, ++round) {
        if (v < bit && v + bit < wire.size()) {
            wire.post(wire.of(wire.me() + bit), data, n);
        } else if (v >= bit && v < 2 * bit) {
            wire.receive_copy(wire.of(wire.me() - bit), {round, 0, 0, n, false}, data);
        }
    }
    wire.wait_all();
}

}  // namespace meshscope::comm
