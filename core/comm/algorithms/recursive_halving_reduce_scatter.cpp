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

#include "core/comm/algorithms/algorithms.h"
#include "core/comm/algorithms/fold.h"

namespace meshscope::comm {

void recursive_halving_reduce_scatter(Wire& wire, ReduceOp op, std::byte* out, const std::byte* in,
                                      std::span<const Part> parts) {
    const Fold fold(wire);
    const int32_t q = fold.places(), v = fold.place(), pairs = wire.size() - q, me = wire.me();
    const int64_t n = total(parts);
    const Part mine = parts[static_cast<std::size_t>(me)];
    const auto first_part = [&](int32_t place) { return place + std::min(place, pairs); };
    const auto run = [&](int32_t place, int32_t places) {
        return run_of_parts(parts, first_part(place), first_part(place + places) - first_part(place));
    };
    const int32_t last_round = fold.rounds() + fold.doublings();

    if (v < 0) {
        wire.wait(wire.post(me + 1, in, n));  // `out` may lie in `in`
        wire.receive(me + 1, {last_round, me, mine.first, mine.elements, false},
                     [&](const std::byte* from) { wire.copy(out, from, wire.bytes(mine.elements)); });
        return;
    }
    const std::byte* have = in;  // this rank's numbers until something was added
    std::byte* const sums = wire.scratch(n);
    if (me < 2 * pairs) {
        wire.receive(me - 1, {0, 0, 0, n, true},
                     [&](const std::byte* from) { wire.reduce_pair(op, sums, from, in, n); });
        have = sums;
    }
    int32_t round = fold.rounds();
    for (int32_t d = q / 2; d >= 1; d /= 2, ++round) {
        const int32_t partner = fold.rank_at(v ^ d), kept = v / d * d;
        const Part leaving = run(kept ^ d, d), own = run(kept, d);
        wire.post(partner, have + wire.bytes(leaving.first), leaving.elements);
        wire.receive(partner, {round, first_part(kept), own.first, own.elements, true},
                     [&](const std::byte* from) {
                         wire.reduce_pair(op, sums + wire.bytes(own.first), from,
                                          have + wire.bytes(own.first), own.elements);
                     });
        have = sums;
    }
    const Part place = run(v, 1);
    wire.finish_reduce(op, sums + wire.bytes(place.first), place.elements, wire.size());
    if (me < 2 * pairs) {
        const Part even = parts[static_cast<std::size_t>(me - 1)];
        wire.post(me - 1, sums + wire.bytes(even.first), even.elements);
    }
    wire.wait_all();
    wire.copy(out, sums + wire.bytes(mine.first), wire.bytes(mine.elements));
}

}  // namespace meshscope::comm
