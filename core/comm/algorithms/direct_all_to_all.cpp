// Direct all-to-all: every pair exchanges its two parts.
//
//   round 0: rank r offers part q of its input to rank q, for all q, and copies what every q offers it,
//            beginning with its neighbour r+1
//
// An empty part is no hop. Steps 1. Bytes a rank sends: all input parts but its own; n(p-1)/p for n elements
// in even parts. Reduces nothing.
#include "core/comm/algorithms/algorithms.h"

namespace meshscope::comm {

void direct_all_to_all(Wire& wire, std::byte* out, std::span<const Part> out_parts, const std::byte* in,
                       std::span<const Part> in_parts) {
    for (int32_t i = 1; i < wire.size(); ++i) {
        const int32_t peer = wire.of(wire.me() + i);
        const Part leaving = in_parts[static_cast<std::size_t>(peer)];
        wire.post(peer, in + wire.bytes(leaving.first), leaving.elements);
    }
    for (int32_t i = 1; i < wire.size(); ++i) {
        const int32_t peer = wire.of(wire.me() + i);
        const Part coming = out_parts[static_cast<std::size_t>(peer)];
        if (coming.elements == 0) {  // a permute has one part that is not empty
            wire.receive_nothing(peer);
            continue;
        }
        wire.receive_copy(peer, {0, peer, coming.first, coming.elements, false},
                          out + wire.bytes(coming.first));
    }
    wire.wait_all();
}

}  // namespace meshscope::comm
