// Bruck's all-gather: recursive doubling for any number of ranks.
//
// Each rank lays the parts out in scratch beginning with its own: place i holds part r+i (around).
//   round k, d = 2^k: rank r sends its first min(d, p-d) parts to rank r-d, and receives as many from
//                     r+d behind the d that it has: parts r+d, r+d+1, …
// At the end the parts are copied out to where they belong. They lie side by side there, so a hop has one
// piece, or two where they go around the buffer's end.
//
// Steps ⌈lg p⌉. Bytes a rank sends: those parts; n(p-1)/p for n elements in even parts. Cost
// ⌈lg p⌉·α + n(p-1)/p·β, and one copy of n. Reduces nothing. Source: Bruck, Ho, Kipnis, Upfal, Weathersby,
// "Efficient algorithms for all-to-all communications in multiport message-passing systems", 1997; Thakur et
// al. 2005, section 4.1.
//
// Bruck's all-to-all: lg p messages a rank, each of about half its buffer, where the others send p-1 of a
// p-th. Even parts only: everybody forwards others' parts, and must know their size.
//
// Slot i of rank r begins with r's part for rank r+i. A slot's number never changes; what is in it moves by
// 2^k in the rounds where bit k of i is set, so by i in all.
//   round k, d = 2^k: rank r sends the slots whose bit k is 1, packed in order, to rank r+d, and takes
//                     the same slots from r-d
// At the end slot i holds what rank r-i sent r. After round k that is so already for the slots below 2d; the
// others hold what is only passing through. A hop's pieces are its slots, named by the rank that a slot's
// part is from; of those that pass through the record says no place.
//
// Empty parts: no hops. Steps ⌈lg p⌉. Bytes a rank sends: n/p for each slot with the bit, in all n/p·(the
// ones in all numbers below p); n/2·lg p for p a power of two. Cost ⌈lg p⌉·α + n/2·lg p·β: for small parts.
// Reduces nothing; sends from scratch of n, and packs in scratch of about n/2 for each round. Source: Bruck,
// Ho, Kipnis, Upfal, Weathersby 1997; Thakur et al. 2005, section 4.4.
#include <algorithm>

#include "core/comm/schedule/card.h"
#include "core/comm/schedule/cards/ceil_log2.h"

namespace meshscope::comm::cards {
namespace {

void bruck_all_gather(Steps& steps) {
    const int32_t p = steps.p(), me = steps.me();
    steps.rounds(ceil_log2(p));
    const auto part = [&](int32_t i) { return steps.out_part(steps.of(me + i)); };
    // By place: where part me + i begins in scratch.
    std::vector<int64_t> first{0};
    for (int32_t i = 0; i < p; ++i) first.push_back(first.back() + part(i).elements);
    const auto at = [&](int32_t i) { return first[static_cast<std::size_t>(i)]; };
    const Stretch turned = steps.scratch(first.back());
    steps.copy(turned.part(0, part(0).elements), steps.output().part(part(0)));

    int32_t round = 0;
    for (int32_t d = 1; d < p; d *= 2, ++round) {
        const int32_t count = std::min(d, p - d), from = steps.of(me + d);
        steps.send(round, steps.of(me - d), turned.part(0, at(count)));
        const Stretch into = turned.part(at(d), at(d + count) - at(d));
        // They lie side by side in the output, but where they go around.
        const int32_t before_end = std::min(count, steps.p() - from);
        std::vector<trace::HopPiece> pieces;
        const auto side_by_side = [&](int32_t first_part, int32_t n) {
            const Part run = run_of_parts(steps.out_parts(), first_part, n);
            pieces.push_back({first_part, run.first, run.elements});
        };
        side_by_side(from, before_end);
        if (before_end < count) side_by_side(0, count - before_end);
        steps.receive(round, from, pieces, std::span(&into, 1));
    }
    for (int32_t i = 1; i < p; ++i)
        steps.copy(steps.output().part(part(i)), turned.part(at(i), part(i).elements));
}

void bruck_all_to_all(Steps& steps) {
    const int32_t p = steps.p(), me = steps.me();
    const int64_t part = steps.out_part(me).elements;
    steps.rounds(ceil_log2(p));
    const Stretch slots = steps.scratch(part * p);
    const auto slot = [&](int32_t i) { return slots.part(i * part, part); };
    for (int32_t i = 1; i < p; ++i) steps.copy(slot(i), steps.input().part(steps.in_part(steps.of(me + i))));

    int32_t round = 0;
    for (int32_t d = 1; d < p; d *= 2, ++round) {
        const int32_t to = steps.of(me + d), from = steps.of(me - d);
        if (part == 0) {
            steps.send_nothing(round, to);
            steps.receive_nothing(round, from);
            continue;
        }
        std::vector<Stretch> moving;
        std::vector<trace::HopPiece> pieces;
        for (int32_t i = d; i < p; ++i) {
            if ((i & d) == 0) continue;
            moving.push_back(slot(i));
            const int32_t origin = steps.of(me - i);
            pieces.push_back({origin, i < 2 * d ? steps.out_part(origin).first : -1, part});
        }
        // Packed, because what comes lands where it leaves.
        const Stretch packed = steps.scratch(part * static_cast<int64_t>(moving.size()));
        for (std::size_t i = 0; i < moving.size(); ++i)
            steps.copy(packed.part(static_cast<int64_t>(i) * part, part), moving[i]);
        steps.send(round, to, packed);
        steps.receive(round, from, pieces, moving);
    }
    for (int32_t i = 1; i < p; ++i)
        steps.copy(steps.output().part(steps.out_part(steps.of(me - i))), slot(i));
}

}  // namespace

AlgorithmCard bruck() {
    return {Algorithm::bruck,
            {{CollectiveOp::all_gather, bruck_all_gather}, {CollectiveOp::all_to_all, bruck_all_to_all, false, true}},
            {{CollectiveOp::all_reduce, Algorithm::recursive_doubling},
             {CollectiveOp::reduce_scatter, Algorithm::recursive_halving},
             {CollectiveOp::all_to_all, Algorithm::pairwise}}};
}

}  // namespace meshscope::comm::cards
