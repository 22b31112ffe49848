// Bruck's all-gather: recursive doubling for any number of ranks.
//
// Each rank lays the parts out in scratch beginning with its own: place i holds part r+i (around).
//   round k, d = 2^k: rank r sends its first min(d, p-d) parts to rank r-d, and receives as many from
//                     r+d behind the d that it has: parts r+d, r+d+1, …
// At the end the parts are copied out to where they belong. A hop's range begins at the part that it names
// and runs around: past the buffer's end it goes on at its beginning.
//
// Steps ⌈lg p⌉. Bytes a rank sends: those parts; n(p-1)/p for n elements in even parts. Cost
// ⌈lg p⌉·α + n(p-1)/p·β, and one copy of n. Reduces nothing. Source: Bruck, Ho, Kipnis, Upfal, Weathersby,
// "Efficient algorithms for all-to-all communications in multiport message-passing systems", 1997; Thakur et
// al. 2005, section 4.1.
#include <algorithm>

#include "core/comm/algorithms/algorithms.h"

namespace meshscope::comm {

void bruck_all_gather(Wire& wire, std::byte* out, std::span<const Part> parts) {
    const int32_t p = wire.size(), me = wire.me();
    const auto part = [&](int32_t i) { return parts[static_cast<std::size_t>(wire.of(me + i))]; };
    // By place: where part me + i begins in scratch.
    std::vector<int64_t> first{0};
    for (int32_t i = 0; i < p; ++i) first.push_back(first.back() + part(i).elements);
    const auto at = [&](int32_t i) { return first[static_cast<std::size_t>(i)]; };
    std::byte* const turned = wire.scratch(first.back());
    wire.copy(turned, out + wire.bytes(part(0).first), wire.bytes(part(0).elements));

    int32_t round = 0;
    for (int32_t d = 1; d < p; d *= 2, ++round) {
        const int32_t count = std::min(d, p - d);
        wire.post(wire.of(me - d), turned, at(count));
        const int64_t coming = at(d + count) - at(d);
        wire.receive(
            wire.of(me + d), {round, wire.of(me + d), part(d).first, coming, false},
            [&](const std::byte* from) { wire.copy(turned + wire.bytes(at(d)), from, wire.bytes(coming)); });
    }
    for (int32_t i = 1; i < p; ++i)
        wire.copy(out + wire.bytes(part(i).first), turned + wire.bytes(at(i)), wire.bytes(part(i).elements));
    wire.wait_all();
}

}  // namespace meshscope::comm
