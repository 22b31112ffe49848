// Halving-doubling all-reduce (Rabenseifner): a reduce-scatter that halves, then an all-gather that doubles.
//
// Fold first where p is no power of two; then the buffer is cut as torch.chunk cuts, one chunk for each of q
// places:
//   d = q/2, q/4, … 1: place v and place v xor d hold the same d·2 chunks; the one whose bit d is 0 keeps the
//                      lower half, the other the upper; each sends the half it gives up and adds what it gets
//                      into the half it keeps. At the end v holds the whole sum of chunk v (divided, for AVG)
//   d = 1, 2, … q/2:   they exchange the d finished chunks that each has
//
// Steps 2 lg q, and 2 more with folding. Bytes a rank sends: 2n(q-1)/q where q divides n, as the ring does,
// in fewer steps; in a pair, the odd rank n more, the even one n. Cost 2 lg p·α + 2n(p-1)/p·β + n(p-1)/p·γ.
// Order of reduction: places far apart first: G(m, r) = G(2m, r) + G(2m, r + m), the sum of the places that
// are r modulo m, G(q, r) = y[r]; the result is G(1, 0). bfloat16 is rounded after each addition. Source:
// Rabenseifner, "Optimization of collective reduction operations", 2004; Thakur et al. 2005, section 4.5.
#include "core/comm/schedule/card.h"
#include "core/comm/schedule/cards/fold.h"

namespace meshscope::comm::cards {
namespace {

void halving_doubling_all_reduce(Steps& steps) {
    const Fold fold(steps);
    const Stretch data = steps.output();
    steps.rounds(2 * fold.rounds() + 2 * fold.doublings());
    fold.gather(steps, data);
    const int32_t q = fold.places(), v = fold.place();
    if (v >= 0) {
        const std::vector<Part> chunks = chunk_parts(steps.n(), q);
        const auto run = [&](int32_t first, int32_t count) {
            return data.part(run_of_parts(chunks, first, count));
        };
        int32_t round = fold.rounds();
        for (int32_t d = q / 2; d >= 1; d /= 2, ++round) {
            const int32_t partner = fold.rank_at(v ^ d), kept = v / d * d;
            steps.send(round, partner, run(kept ^ d, d));
            steps.reduce(round, partner, kept, run(kept, d));
        }
        steps.finish(run(v, 1));
        for (int32_t d = 1; d < q; d *= 2, ++round) {
            const int32_t partner = fold.rank_at(v ^ d), owned = v / d * d;
            steps.send(round, partner, run(owned, d));
            steps.receive(round, partner, owned ^ d, run(owned ^ d, d));
        }
    }
    fold.hand_back(steps, fold.rounds() + 2 * fold.doublings(), data);
}

}  // namespace

AlgorithmCard halving_doubling() {
    return {Algorithm::halving_doubling,
            {{CollectiveOp::all_reduce, halving_doubling_all_reduce}},
            {{CollectiveOp::all_gather, Algorithm::recursive_doubling},
             {CollectiveOp::all_gather, Algorithm::bruck},
             {CollectiveOp::reduce_scatter, Algorithm::recursive_halving}}};
}

}  // namespace meshscope::comm::cards
