// Recursive doubling all-reduce: pairs of ranks exchange all they have summed, at twice the distance each
// time.
//
// Fold first where p is no power of two; then with q places and d = 1, 2, 4, … q/2:
//   place v exchanges its n sums with place v xor d, and both add, the lower place's numbers first
//
// Steps lg q, and 2 more with folding. Bytes a rank sends: n lg q; in a pair, the odd rank n(lg q + 1), the
// even one n. Cost lg p (α + nβ + nγ): the fewest steps of all, every one with the whole buffer, so for small
// buffers. Order of reduction: the balanced tree over the places, neighbours first: ((y0+y1)+(y2+y3))+…, with
// y[v] = x[2v] + x[2v+1] for a pair; so every rank has the same bits. bfloat16 is rounded after each
// exchange. AVG divides once, at the end, on every place. Source: Thakur, Rabenseifner, Gropp 2005, section
// 4.5.
//
// Recursive doubling all-gather: pairs of ranks exchange all the parts they have, at twice the distance each
// time. For p a power of two; choose_algorithm gives Bruck's where p is another number.
//
//   round k, d = 2^k: rank r has the d parts from r/d·d on, exchanges them with rank r xor d, and has 2d
//
// One message carries d parts, which lie side by side: the hop names the first, and its range holds all.
// Steps lg p. Bytes a rank sends: the parts it has each time; n(p-1)/p for n elements in even parts. Cost
// lg p·α + n(p-1)/p·β: the ring's bytes in the fewest steps. Reduces nothing. Source: Thakur, Rabenseifner,
// Gropp 2005, section 4.1.
#include "core/comm/schedule/card.h"
#include "core/comm/schedule/cards/ceil_log2.h"
#include "core/comm/schedule/cards/fold.h"

namespace meshscope::comm::cards {
namespace {

void recursive_doubling_all_reduce(Steps& steps) {
    const Fold fold(steps);
    const Stretch data = steps.output();
    steps.rounds(2 * fold.rounds() + fold.doublings());
    fold.gather(steps, data);
    int32_t round = fold.rounds();
    const int32_t v = fold.place();
    if (v >= 0) {
        const Stretch sum = steps.scratch(data.elements);
        for (int32_t d = 1; d < fold.places(); d *= 2, ++round) {
            const int32_t partner = fold.rank_at(v ^ d);
            steps.send(round, partner, data);
            // The lower place's first on both sides: of 0 and -0 the larger is whichever comes first.
            steps.reduce(round, partner, 0, 0, sum, data, (v & d) != 0);
            steps.copy(data, sum);
        }
        steps.finish(data);
    }
    fold.hand_back(steps, fold.rounds() + fold.doublings(), data);
}

void recursive_doubling_all_gather(Steps& steps) {
    steps.rounds(ceil_log2(steps.p()));
    int32_t round = 0;
    for (int32_t d = 1; d < steps.p(); d *= 2, ++round) {
        const int32_t partner = steps.me() ^ d;
        const int32_t owned = steps.me() / d * d, missing = owned ^ d;
        steps.send(round, partner, steps.output().part(run_of_parts(steps.out_parts(), owned, d)));
        steps.receive(round, partner, missing,
                      steps.output().part(run_of_parts(steps.out_parts(), missing, d)));
    }
}

}  // namespace

AlgorithmCard recursive_doubling() {
    return {Algorithm::recursive_doubling,
            {{CollectiveOp::all_reduce, recursive_doubling_all_reduce}, {CollectiveOp::all_gather, recursive_doubling_all_gather, true}},
            {{CollectiveOp::all_gather, Algorithm::bruck},
             {CollectiveOp::reduce_scatter, Algorithm::recursive_halving}}};
}

}  // namespace meshscope::comm::cards
