// Binomial tree reduce: the broadcast's tree, walked from the leaves to the root.
//
// Ranks are renumbered v = r - root (around the group), so the root is 0.
//   round k: every v whose bits below k are 0 and whose bit k is 1 sends what it has summed to v - 2^k,
//            and is done; v - 2^k adds it
//
// Steps ceil(log2 p). Bytes: every rank but the root sends n once. In all p-1 hops. Inner ranks sum in
// scratch: no input is written. Order of reduction: S(v) = ((x[v] + S(v+1)) + S(v+2)) + S(v+4) …, where S(u)
// is what u has summed when it sends; bfloat16 is rounded at each hop. AVG divides once, by p, at the root.
#include "core/comm/algorithms/algorithms.h"

namespace meshscope::comm {

void tree_reduce(Wire& wire, ReduceOp op, int32_t root, std::byte* out, const std::byte* in, int64_t n) {
    const int32_t v = wire.of(wire.me() - root);
    const bool inner = v != 0 && v % 2 == 0 && v + 1 < wire.size();
    std::byte* const sum = inner ? wire.scratch(n) : out;
    const std::byte* have = in;  // x[v] until something was added
    int32_t round = 0;
    for (int32_t bit = 1; bit < wire.size(); bit *= 2, ++round) {
        if ((v & bit) != 0) {
            wire.post(wire.of(wire.me() - bit), have, n);
            wire.wait_all();
            return;
        }
        if (v + bit >= wire.size()) continue;
        wire.receive(wire.of(wire.me() + bit), {round, 0, 0, n, true},
                     [&](const std::byte* from) { wire.reduce_pair(op, sum, have, from, n); });
        have = sum;
    }
    wire.copy(out, have, wire.bytes(n));
    wire.finish_reduce(op, out, n, wire.size());
}

}  // namespace meshscope::comm
