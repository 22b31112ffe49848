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
#include "core/comm/schedule/card.h"

namespace meshscope::comm::cards {
namespace {

void star_all_reduce(Steps& steps) {
    const Stretch data = steps.output();
    steps.rounds(2);
    if (steps.me() != 0) {
        steps.send(0, 0, data);
        steps.receive(1, 0, 0, data);
        return;
    }
    steps.reduce_many(0, 0, 0, data, data);
    for (int32_t peer = 1; peer < steps.p(); ++peer) steps.send(1, peer, data);
}

}  // namespace

AlgorithmCard star() {
    return {Algorithm::star,
            {{CollectiveOp::all_reduce, star_all_reduce}},
            {{CollectiveOp::all_gather, Algorithm::direct},
             {CollectiveOp::reduce_scatter, Algorithm::direct},
             {CollectiveOp::broadcast, Algorithm::direct},
             {CollectiveOp::reduce, Algorithm::direct},
             {CollectiveOp::barrier, Algorithm::direct}}};
}

}  // namespace meshscope::comm::cards
