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
#include "core/comm/algorithms/algorithms.h"
#include "core/comm/algorithms/fold.h"

namespace meshscope::comm {
void halving_doubling_all_reduce(Wire& wire, ReduceOp op, std::byte* data, int64_t n) {
    const Fold fold(wire);
    fold.gather(wire, op, data, n);
    const int32_t q = fold.places(), v = fold.place();
    const std::vector<Part> chunks = chunk_parts(n, q);
    const auto at = [&](const Part& part) { return data + wire.bytes(part.first); };
    int32_t round = fold.rounds();

    if (v >= 0) {
        std::vector<Wire::Post> posts;
        for (int32_t d = q / 2; d >= 1; d /= 2, ++round) {
            const int32_t partner = fold.rank_at(v ^ d);
            const int32_t kept = v / d * d, given = kept ^ d;
            const Part out = run_of_parts(chunks, given, d), in = run_of_parts(chunks, kept, d);
            posts.push_back(wire.post(partner, at(out), out.elements));
            wire.receive(partner, {round, kept, in.first, in.elements, true},
                         [&](const std::byte* from) { wire.reduce_into(op, at(in), from, in.elements); });
        }
        const Part mine = run_of_parts(chunks, v, 1);
        wire.finish_reduce(op, at(mine), mine.elements, wire.size());

        for (int32_t d = 1; d < q; d *= 2, ++round) {
            const int32_t partner = fold.rank_at(v ^ d);
            const int32_t owned = v / d * d, missing = owned ^ d;
            const Part out = run_of_parts(chunks, owned, d), in = run_of_parts(chunks, missing, d);
            wire.post(partner, at(out), out.elements);
            wire.wait(posts.back());  // what comes lands where the half stood that was given up at this d
            posts.pop_back();
            wire.receive_copy(partner, {round, missing, in.first, in.elements, false}, at(in));
        }
    }
    wire.wait_all();
    fold.hand_back(wire, fold.rounds() + 2 * fold.doublings(), data, n);
}

}  // namespace meshscope::comm
