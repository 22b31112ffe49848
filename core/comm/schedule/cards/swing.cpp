// Swing all-reduce: a reduce-scatter that halves and an all-gather that doubles, between ranks that are near
// each other on a ring.
//
// Fold first where p is no power of two; then with q places, L = lg q, the buffer cut as torch.chunk cuts,
// one chunk for each place, and ρ(s) = (1 - (-2)^(s+1)) / 3, which is 1, -1, 3, -5, 11, …:
//   partner of place v in step s: π(v, s) = v + ρ(s) where v is even, v - ρ(s) where it is odd, modulo q
//   chunks that v keeps before step s: R(v, L) = {v}, R(v, s) = R(v, s+1) ∪ R(π(v, s), s+1)
//   s = 0 … L-1: v sends the chunks R(π(v, s), s+1), and adds what it gets into R(v, s+1). At the end v holds
//                the whole sum of chunk v (divided, for AVG)
//   s = L-1 … 0: v sends the finished chunks R(v, s+1), and gets R(π(v, s), s+1)
//
// Steps 2 lg q, and 2 more with folding. Bytes a rank sends: as halving-doubling, 2n(q-1)/q where q divides
// n. Its partners are at distance 1, 1, 3, 5, 11, … instead of q/2, q/4, …, so on a ring or torus of links
// few messages share one. Cost 2 lg p·α + 2n(p-1)/p·β + n(p-1)/p·γ where no link is shared. The chunks of a
// message do not lie side by side: the hop names its pieces, at most q/4 + 1. Order of reduction: G(v, s+1)
// = G(π(v, s), s) + G(v, s), G(v, 0) the place's own numbers; chunk v is G(v, L). bfloat16 is rounded after
// each addition. Source: De Sensi, Bonato, Saam, Hoefler, "Swing: Short-cutting Rings for Higher Bandwidth
// Allreduce", NSDI 2024.
#include <algorithm>

#include "core/comm/schedule/card.h"
#include "core/comm/schedule/cards/fold.h"

namespace meshscope::comm::cards {
namespace {

int32_t partner_of(int32_t place, int32_t step, int32_t places) {
    int32_t power = -2;
    for (int32_t s = 0; s < step; ++s) power *= -2;
    const int32_t distance = (1 - power) / 3;
    const int32_t partner = place % 2 == 0 ? place + distance : place - distance;
    return (partner % places + places) % places;
}

/// R(place, step), ascending.
std::vector<int32_t> chunks_kept(int32_t place, int32_t step, int32_t steps, int32_t places) {
    std::vector<int32_t> chunks{place};
    for (int32_t s = step; s < steps; ++s) {
        const std::size_t n = chunks.size();
        for (std::size_t i = 0; i < n; ++i) chunks.push_back(partner_of(chunks[i], s, places));
    }
    std::ranges::sort(chunks);
    return chunks;
}

/// Chunks of a message, those side by side as one piece.
struct Message {
    std::vector<Stretch> stretches;
    std::vector<trace::HopPiece> pieces;

    Message(const Stretch& data, std::span<const Part> parts, const std::vector<int32_t>& chunks) {
        for (std::size_t i = 0; i < chunks.size();) {
            std::size_t end = i + 1;
            while (end < chunks.size() && chunks[end] == chunks[end - 1] + 1) ++end;
            const Part run = run_of_parts(parts, chunks[i], static_cast<int32_t>(end - i));
            if (run.elements > 0 || stretches.empty()) {
                stretches.push_back(data.part(run));
                pieces.push_back({chunks[i], run.first, run.elements});
            }
            i = end;
        }
    }
};

void swing_all_reduce(Steps& steps) {
    const Fold fold(steps);
    const Stretch data = steps.output();
    const int32_t q = fold.places(), lg = fold.doublings(), v = fold.place();
    steps.rounds(2 * fold.rounds() + 2 * lg);
    fold.gather(steps, data);
    if (v >= 0) {
        const std::vector<Part> parts = chunk_parts(steps.n(), q);
        struct Exchange {
            int32_t rank;
            Message kept, given;
        };
        std::vector<Exchange> exchanges;  // by step of the first half; the second takes them backwards
        for (int32_t s = 0; s < lg; ++s) {
            const int32_t partner = partner_of(v, s, q);
            exchanges.push_back({fold.rank_at(partner), Message(data, parts, chunks_kept(v, s + 1, lg, q)),
                                 Message(data, parts, chunks_kept(partner, s + 1, lg, q))});
        }
        int32_t round = fold.rounds();
        for (const auto& [rank, kept, given] : exchanges) {
            steps.send(round, rank, given.stretches);
            steps.reduce(round++, rank, kept.pieces, kept.stretches);
        }
        steps.finish(data.part(parts[static_cast<std::size_t>(v)]));
        std::ranges::reverse(exchanges);
        for (const auto& [rank, kept, given] : exchanges) {
            steps.send(round, rank, kept.stretches);
            steps.receive(round++, rank, given.pieces, given.stretches);
        }
    }
    fold.hand_back(steps, fold.rounds() + 2 * lg, data);
}

}  // namespace

AlgorithmCard swing() {
    return {Algorithm::swing,
            {{CollectiveOp::all_reduce, swing_all_reduce}},
            {{CollectiveOp::all_gather, Algorithm::recursive_doubling},
             {CollectiveOp::all_gather, Algorithm::bruck},
             {CollectiveOp::reduce_scatter, Algorithm::recursive_halving}}};
}

}  // namespace meshscope::comm::cards
