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

#include "core/comm/algorithms/algorithms.h"

namespace meshscope::comm {

void scatter_all_gather_broadcast(Wire& wire, int32_t root, std::byte* data, int64_t n) {
    const int32_t p = wire.size(), v = wire.of(wire.me() - root);
    const std::vector<Part> chunks = chunk_parts(n, p);
    const auto at = [&](const Part& part) { return data + wire.bytes(part.first); };
    const auto take = [&](int32_t from, int32_t round, int32_t chunk, const Part& part) {
        wire.receive_copy(from, {round, chunk, part.first, part.elements, false}, at(part));
    };
    int32_t reach = 1, round = 0;
    while (reach < p) reach *= 2;
    for (int32_t d = reach / 2; d >= 1; d /= 2, ++round) {
        if (v % d != 0) continue;
        const bool gives = v % (2 * d) == 0;
        const int32_t first = gives ? v + d : v;
        if (first >= p) continue;
        const Part share = run_of_parts(chunks, first, std::min(d, p - first));
        if (gives)
            wire.post(wire.of(wire.me() + d), at(share), share.elements);
        else
            take(wire.of(wire.me() - d), round, first, share);
    }
    // From chunk v on, how many v was dealt.
    const auto dealt = [&](int32_t place) { return place == 0 ? p : std::min(place & -place, p - place); };
    const auto has = [&](int32_t place, int32_t chunk) {
        return chunk >= place && chunk < place + dealt(place);
    };
    for (int32_t s = 0; s < p - 1; ++s) {
        const int32_t out = wire.of(v - s), in = wire.of(v - s - 1);
        if (const Part& leaving = chunks[static_cast<std::size_t>(out)]; !has(wire.of(v + 1), out))
            wire.post(wire.of(wire.me() + 1), at(leaving), leaving.elements);
        if (!has(v, in)) take(wire.of(wire.me() - 1), round + s, in, chunks[static_cast<std::size_t>(in)]);
    }
    wire.wait_all();
}

}  // namespace meshscope::comm
