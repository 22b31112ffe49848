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
#include "core/comm/algorithms/algorithms.h"
#include "core/comm/algorithms/fold.h"

namespace meshscope::comm {

void recursive_doubling_all_reduce(Wire& wire, ReduceOp op, std::byte* data, int64_t n) {
    const Fold fold(wire);
    fold.gather(wire, op, data, n);
    int32_t round = fold.rounds();
    std::byte* const sum = fold.place() >= 0 ? wire.scratch(n) : nullptr;
    for (int32_t d = 1; d < fold.places() && fold.place() >= 0; d *= 2, ++round) {
        const int32_t partner = fold.rank_at(fold.place() ^ d);
        const Wire::Post post = wire.post(partner, data, n);
        // The lower place's first on both sides: of 0 and -0 the larger is whichever comes first.
        const bool upper = (fold.place() & d) != 0;
        wire.receive(partner, {round, 0, 0, n, true}, [&](const std::byte* from) {
            wire.reduce_pair(op, sum, upper ? from : data, upper ? data : from, n);
        });
        wire.wait(post);  // the partner reads data until then
        wire.copy(data, sum, wire.bytes(n));
    }
    if (fold.place() >= 0) wire.finish_reduce(op, data, n, wire.size());
    fold.hand_back(wire, fold.rounds() + fold.doublings(), data, n);
}

}  // namespace meshscope::comm
