// All-reduce through one rank: a reduce to rank 0, then a broadcast from it.
//
// tree: by the binomial trees of tree_reduce and tree_broadcast. Steps 2 ceil(log2 p). Bytes: every rank but
// 0 sends n up; rank v sends n to each of its children on the way down; p-1 hops of n each way in all. Cost
// 2 ceil(lg p)(α + nβ) + ceil(lg p) nγ.
// star: by direct_reduce and direct_broadcast, as a parameter server does it. Steps 2. Bytes: rank 0 sends
// and receives (p-1)n, the others n. Its one link carries all of it: 2(p-1)(α + nβ).
//
// Order of reduction: tree_reduce's, direct_reduce's (rank order, rounded once). AVG divides once, at rank 0.
// Source: Thakur, Rabenseifner, Gropp, "Optimization of collective communication operations in MPICH", 2005,
// section 4.4; Li et al., "Scaling distributed machine learning with the parameter server", 2014.
#include <bit>

#include "core/comm/algorithms/algorithms.h"

namespace meshscope::comm {

void tree_all_reduce(Wire& wire, ReduceOp op, std::byte* data, int64_t n) {
    tree_reduce(wire, op, 0, data, data, n);
    wire.begin_at_round(std::bit_width(static_cast<uint32_t>(wire.size() - 1)));  // ceil(lg p)
    tree_broadcast(wire, 0, data, n);
}

void star_all_reduce(Wire& wire, ReduceOp op, std::byte* data, int64_t n) {
    direct_reduce(wire, op, 0, data, data, n);
    wire.begin_at_round(1);
    direct_broadcast(wire, 0, data, n);
}

}  // namespace meshscope::comm
