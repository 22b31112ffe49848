// Recursive halving reduce-scatter: each rank gives up half of what it still sums, to the far rank that keeps
// it; then half of the rest, to one at half the distance, and so on.
//
// Fold first where p is no power of two, to q places; the parts of a pair's two ranks are the place's. Then,
// as halving_doubling_all_reduce begins:
//   d = q/2, q/4, … 1: place v and place v xor d sum the same 2d places' parts; the one whose bit d is
//                      0 keeps the lower half, the other the upper; each sends the half it gives up and
//                      adds what it gets into its own
//   with folding, a last round: the odd rank of each pair sends the even one its part
//
// Steps lg q, and 2 more with folding. Bytes a rank sends: all parts but its place's; n(p-1)/p for n elements
// in even parts and p a power of two; the even rank of a pair n, the odd one its neighbour's part more. Cost
// lg p·α + n(p-1)/p·(β + γ). The input is not written; sums lie in scratch of n. A hop's range holds all the
// parts it carries, and names the first. Order of reduction: halving-doubling's: G(m, r) = G(2m, r) + G(2m, r
// + m), the sum of the places that are r modulo m, G(q, r) = y[r]; place v has G(1, 0) of its parts. bfloat16
// is rounded after each addition. AVG divides once, at the end. Source: Thakur, Rabenseifner, Gropp 2005,
// section 4.3 (recursive halving).
#include <algorithm>

#include "core/comm/schedule/card.h"
#include "core/comm/schedule/cards/fold.h"

namespace meshscope::comm::cards {
namespace {

void recursive_halving_reduce_scatter(Steps& steps) {
    const Fold fold(steps);
    const int32_t q = fold.places(), v = fold.place(), pairs = steps.p() - q, me = steps.me();
    const Part mine = steps.in_part(me);
    const Stretch out = steps.output().part(0, mine.elements);
    const auto first_part = [&](int32_t place) { return place + std::min(place, pairs); };
    const auto run = [&](int32_t place, int32_t places) {
        return run_of_parts(steps.in_parts(), first_part(place),
                            first_part(place + places) - first_part(place));
    };
    const int32_t last_round = fold.rounds() + fold.doublings();
    steps.rounds(last_round + fold.rounds());

    if (v < 0) {
        steps.send(0, me + 1, steps.input());
        steps.receive(last_round, me + 1, me, mine.first, std::span(&out, 1));
        return;
    }
    Stretch have = steps.input();  // this rank's numbers until something was added
    const Stretch sums = steps.scratch(steps.n());
    if (me < 2 * pairs) {
        steps.reduce(0, me - 1, 0, 0, sums, steps.input());
        have = sums;
    }
    int32_t round = fold.rounds();
    for (int32_t d = q / 2; d >= 1; d /= 2, ++round) {
        const int32_t partner = fold.rank_at(v ^ d), kept = v / d * d;
        const Part leaving = run(kept ^ d, d), own = run(kept, d);
        steps.send(round, partner, have.part(leaving));
        steps.reduce(round, partner, first_part(kept), own.first, sums.part(own), have.part(own));
        have = sums;
    }
    steps.finish(sums.part(run(v, 1)));
    if (me < 2 * pairs) steps.send(last_round, me - 1, sums.part(steps.in_part(me - 1)));
    steps.copy(out, sums.part(mine));
}

}  // namespace

AlgorithmCard recursive_halving() {
    return {Algorithm::recursive_halving,
            {{CollectiveOp::reduce_scatter, recursive_halving_reduce_scatter}},
            {{CollectiveOp::all_reduce, Algorithm::halving_doubling},
             {CollectiveOp::all_gather, Algorithm::recursive_doubling},
             {CollectiveOp::all_gather, Algorithm::bruck}}};
}

}  // namespace meshscope::comm::cards
