// Binomial tree broadcast: the ranks that have the data double every round.
//
// Ranks are renumbered v = r - root (around the group), so the root is 0.
//   round k: every v < 2^k that has the data sends all of it to v + 2^k, if there is such a rank
//
// Steps ceil(log2 p). Bytes: every rank but the root receives n once; the root sends n ceil(log2 p) times. In
// all p-1 hops. Source: Thakur, Rabenseifner, Gropp 2005, 4.2 (MPICH's short-message broadcast).
//
// Binomial tree reduce: the broadcast's tree, walked from the leaves to the root.
//
// Ranks are renumbered v = r - root (around the group), so the root is 0.
//   round k: every v whose bits below k are 0 and whose bit k is 1 sends what it has summed to v - 2^k,
//            and is done; v - 2^k adds it
//
// Steps ceil(log2 p). Bytes: every rank but the root sends n once. In all p-1 hops. Inner ranks sum in
// scratch: no input is written. Order of reduction: S(v) = ((x[v] + S(v+1)) + S(v+2)) + S(v+4) …, where S(u)
// is what u has summed when it sends; bfloat16 is rounded at each hop. AVG divides once, by p, at the root.
//
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
//
// Barriers: messages of 0 bytes, recorded as hops like any other.
//
// tree: a binomial gather to rank 0 (rounds 0 … L-1, as tree_reduce), then a binomial broadcast from it
// (rounds L … 2L-1), L = ceil(log2 p). 2(p-1) hops in all. direct: every rank sends to every other and waits
// for all, round 0. p(p-1) hops in all.
#include "core/comm/schedule/card.h"
#include "core/comm/schedule/cards/ceil_log2.h"

namespace meshscope::comm::cards {
namespace {

/// What `data` holds on the root goes to all.
void broadcast_from(Steps& steps, int32_t root, const Stretch& data) {
    const int32_t v = steps.of(steps.me() - root);
    int32_t round = 0;
    for (int32_t bit = 1; bit < steps.p(); bit *= 2, ++round) {
        if (v < bit && v + bit < steps.p())
            steps.send(round, steps.of(steps.me() + bit), data);
        else if (v >= bit && v < 2 * bit)
            steps.receive(round, steps.of(steps.me() - bit), 0, data);
    }
}

/// The sum of all `in` in `out` on the root; `out` is unused elsewhere.
void reduce_to(Steps& steps, int32_t root, const Stretch& out, const Stretch& in) {
    const int32_t v = steps.of(steps.me() - root);
    const bool inner = v != 0 && v % 2 == 0 && v + 1 < steps.p();
    const Stretch sum = inner ? steps.scratch(in.elements) : out;
    Stretch have = in;  // x[v] until something was added
    int32_t round = 0;
    for (int32_t bit = 1; bit < steps.p(); bit *= 2, ++round) {
        if ((v & bit) != 0) return steps.send(round, steps.of(steps.me() - bit), have);
        if (v + bit >= steps.p()) continue;
        steps.reduce(round, steps.of(steps.me() + bit), 0, 0, sum, have, false);
        have = sum;
    }
    steps.finish(out);
}

void tree_broadcast(Steps& steps) {
    steps.rounds(ceil_log2(steps.p()));
    broadcast_from(steps, steps.root(), steps.output());
}

void tree_reduce(Steps& steps) {
    steps.rounds(ceil_log2(steps.p()));
    reduce_to(steps, steps.root(), steps.output(), steps.input());
}

void tree_all_reduce(Steps& steps) {
    steps.rounds(2 * ceil_log2(steps.p()));
    reduce_to(steps, 0, steps.output(), steps.output());
    steps.begin_at_round(ceil_log2(steps.p()));
    broadcast_from(steps, 0, steps.output());
}

void tree_barrier(Steps& steps) {
    const int32_t r = steps.me(), p = steps.p();
    const Stretch nothing{Stretch::kOutput, 0, 0};
    steps.rounds(2 * ceil_log2(p));
    int32_t round = 0;
    for (int32_t bit = 1; bit < p; bit *= 2, ++round) {
        // Below its lowest set bit a rank gathers; at that bit it reports, and takes no more part in gathering.
        if (r % bit != 0) continue;
        if ((r & bit) != 0)
            steps.send(round, r - bit, nothing);
        else if (r + bit < p)
            steps.receive(round, r + bit, 0, nothing);
    }
    steps.begin_at_round(round);
    broadcast_from(steps, 0, nothing);
}

}  // namespace

AlgorithmCard tree() {
    return {Algorithm::tree,
            {{CollectiveOp::all_reduce, tree_all_reduce},
             {CollectiveOp::broadcast, tree_broadcast},
             {CollectiveOp::reduce, tree_reduce},
             {CollectiveOp::barrier, tree_barrier}},
            {}};
}

}  // namespace meshscope::comm::cards
