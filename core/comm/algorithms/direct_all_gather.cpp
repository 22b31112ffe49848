// Direct all-gather: every rank copies every other rank's part out of its buffer.
//
//   round 0: rank r offers its part to all others, and copies theirs, beginning with its neighbour r+1,
//            so that not all read the same rank at once
//
// Steps 1. Bytes a rank sends: its part p-1 times; n(p-1)/p for n elements in even parts. Reduces nothing.
#include "core/comm/algorithms/algorithms.h"

namespace meshscope::comm {

void direct_all_gather(Wire& wire, std::byte* out, std::span<const Part> parts) {
    const auto part = [&](int32_t chunk) { return parts[static_cast<std::size_t>(chunk)]; };
    const Part mine = part(wire.me());
    for (int32_t i = 1; i < wire.size(); ++i)
        wire.post(wire.of(wire.me() + i), out + wire.bytes(mine.first), mine.elements);
    for (int32_t i = 1; i < wire.size(); ++i) {
        const int32_t peer = wire.of(wire.me() + i);
        const Part theirs = part(peer);
        wire.receive_copy(peer, {0, peer, theirs.first, theirs.elements, false},
                          out + wire.bytes(theirs.first));
    }
    wire.wait_all();
}

}  // namespace meshscope::comm
