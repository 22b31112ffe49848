// Pairwise all-to-all: p-1 rounds, in each of which every rank sends to one and receives from one.
//
//   round s-1, s = 1 … p-1: rank r sends its part r+s to rank r+s, and receives from r-s what that has
//                           for it; both are over before the next round begins
//
// An empty part is no hop. Steps p-1. Bytes a rank sends: all input parts but its own; n(p-1)/p for n
// elements in even parts. Cost (p-1)(α + n/p·β): as the direct one, but with one message a rank on its way at
// any time, so that links and buffers of a network are never asked for more. Reduces nothing. Source: Thakur,
// Rabenseifner, Gropp 2005, section 4.4 (pairwise exchange of long messages).
#include "core/comm/algorithms/algorithms.h"

namespace meshscope::comm {

void pairwise_all_to_all(Wire& wire, std::byte* out, std::span<const Part> out_parts, const std::byte* in,
                         std::span<const Part> in_parts) {
    for (int32_t s = 1; s < wire.size(); ++s) {
        const int32_t to = wire.of(wire.me() + s), from = wire.of(wire.me() - s);
        const Part leaving = in_parts[static_cast<std::size_t>(to)];
        const Part coming = out_parts[static_cast<std::size_t>(from)];
        const Wire::Post post = wire.post(to, in + wire.bytes(leaving.first), leaving.elements);
        if (coming.elements == 0)
            wire.receive_nothing(from);
        else
            wire.receive_copy(from, {s - 1, from, coming.first, coming.elements, false},
                              out + wire.bytes(coming.first));
        wire.wait(post);
    }
}

}  // namespace meshscope::comm
