// Bruck's all-to-all: lg p messages a rank, each of about half its buffer, where the others send p-1 of a
// p-th. Even parts only: everybody forwards others' parts, and must know their size.
//
// Slot i of rank r begins with r's part for rank r+i. A slot's number never changes; what is in it moves by
// 2^k in the rounds where bit k of i is set, so by i in all.
//   round k, d = 2^k: rank r sends the slots whose bit k is 1, packed in order, to rank r+d, and takes
//                     the same slots from r-d
// At the end slot i holds what rank r-i sent r. After round k that is so already for the slots below 2d; the
// others hold what is only passing through. A hop has the elements of all its slots; its chunk and offset are
// those of slot d, the first in it, which comes from r-d and has arrived.
//
// Empty parts: no hops. Steps ⌈lg p⌉. Bytes a rank sends: n/p for each slot with the bit, in all n/p·(the
// ones in all numbers below p); n/2·lg p for p a power of two. Cost ⌈lg p⌉·α + n/2·lg p·β: for small parts.
// Reduces nothing; sends from scratch of n, and packs in scratch of about n/2 for each round. Source: Bruck,
// Ho, Kipnis, Upfal, Weathersby 1997; Thakur et al. 2005, section 4.4.
#include "core/comm/algorithms/algorithms.h"

namespace meshscope::comm {

void bruck_all_to_all(Wire& wire, std::byte* out, const std::byte* in, int64_t part) {
    const int32_t p = wire.size(), me = wire.me();
    const int64_t step = wire.bytes(part);
    std::byte* const slots = wire.scratch(part * p);
    for (int32_t i = 1; i < p; ++i) wire.copy(slots + i * step, in + wire.of(me + i) * step, step);

    int32_t round = 0;
    for (int32_t d = 1; d < p; d *= 2, ++round) {
        const int32_t to = wire.of(me + d), from = wire.of(me - d);
        int64_t moving = 0;
        for (int32_t i = d; i < p; ++i) moving += (i & d) != 0 ? part : 0;
        if (moving == 0) {
            wire.post(to, nullptr, 0);
            wire.receive_nothing(from);
            continue;
        }
        std::byte* const packed = wire.scratch(moving);
        std::byte* end = packed;
        for (int32_t i = d; i < p; ++i) {
            if ((i & d) == 0) continue;
            wire.copy(end, slots + i * step, step);
            end += step;
        }
        wire.post(to, packed, moving);
        wire.receive(from, {round, from, from * part, moving, false}, [&](const std::byte* bytes) {
            for (int32_t i = d; i < p; ++i) {
                if ((i & d) == 0) continue;
                wire.copy(slots + i * step, bytes, step);
                bytes += step;
            }
        });
    }
    for (int32_t i = 1; i < p; ++i) wire.copy(out + wire.of(me - i) * step, slots + i * step, step);
    wire.wait_all();
}

}  // namespace meshscope::comm
