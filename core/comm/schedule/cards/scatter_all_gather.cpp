// Scatter + all-gather broadcast (van de Geijn's): the root deals its buffer out down a binomial tree, then
// the pieces go around the ring.
//
// Ranks are renumbered v = r - root (around the group), so the root is 0. The buffer is cut as torch.chunk
// cuts in p chunks; L = ⌈lg p⌉.
//   round k < L, d = 2^(L-1-k): every v that 2d divides sends chunks v+d … v+2d-1 (as far as there are
//                               any) to v+d; after it v holds chunks v … v + lowest bit of v - 1, and
//                               the root all
//   rounds L … L+p-2 (s):       v sends chunk v-s to v+1, unless v+1 had it in its share
//
// Steps L + p-1. Bytes: the scatter sends n/2 + n/4 + …, the ring n(p-1)/p a rank, less what the next one
// has. Cost (lg p + p-1)α + 2n(p-1)/p·β, where the binomial tree takes lg p·nβ: for large buffers. A
// scatter's hop carries many chunks side by side and names the first. Source: Barnett, Shuler, van de Geijn
// et al., "Interprocessor collective communication library (InterCom)", 1994; Thakur, Rabenseifner, Gropp
// 2005, section 4.2.
#include <algorithm>

#include "core/comm/schedule/card.h"

namespace meshscope::comm::cards {
namespace {

void scatter_all_gather_broadcast(Steps& steps) {
    const int32_t p = steps.p(), v = steps.of(steps.me() - steps.root());
    const std::vector<Part> chunks = chunk_parts(steps.n(), p);
    const auto run = [&](int32_t first, int32_t count) {
        return steps.output().part(run_of_parts(chunks, first, count));
    };
    int32_t reach = 1, round = 0;
    while (reach < p) reach *= 2;
    for (int32_t d = reach / 2; d >= 1; d /= 2, ++round) {
        if (v % d != 0) continue;
        const bool gives = v % (2 * d) == 0;
        const int32_t first = gives ? v + d : v;
        if (first >= p) continue;
        const Stretch share = run(first, std::min(d, p - first));
        if (gives)
            steps.send(round, steps.of(steps.me() + d), share);
        else
            steps.receive(round, steps.of(steps.me() - d), first, share);
    }
    steps.rounds(round + p - 1);
    // From chunk v on, how many v was dealt.
    const auto dealt = [&](int32_t place) { return place == 0 ? p : std::min(place & -place, p - place); };
    const auto has = [&](int32_t place, int32_t chunk) {
        return chunk >= place && chunk < place + dealt(place);
    };
    for (int32_t s = 0; s < p - 1; ++s) {
        const int32_t out = steps.of(v - s), in = steps.of(v - s - 1);
        if (!has(steps.of(v + 1), out)) steps.send(round + s, steps.of(steps.me() + 1), run(out, 1));
        if (!has(v, in)) steps.receive(round + s, steps.of(steps.me() - 1), in, run(in, 1));
    }
}

}  // namespace

AlgorithmCard scatter_all_gather() {
    return {Algorithm::scatter_all_gather,
            {{CollectiveOp::broadcast, scatter_all_gather_broadcast}},
            {{CollectiveOp::all_reduce, Algorithm::halving_doubling}}};
}

}  // namespace meshscope::comm::cards
