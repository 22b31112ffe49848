// Ring all-gather: every rank's part travels once around.
//
// Rank r sends to r+1 and receives from r-1.
//   rounds 0 … p-2 (s): r sends part r-s (in round 0 its own) and receives part r-s-1 into its place
//
// Steps p-1. Bytes a rank sends: all parts but that of rank r+1; n(p-1)/p for n elements in even parts.
// Reduces nothing. Source: Thakur, Rabenseifner, Gropp, "Optimization of collective communication operations
// in MPICH", 2005, 4.1.
#include "core/comm/algorithms/algorithms.h"

namespace meshscope::comm {

void ring_all_gather(Wire& wire, std::byte* out, std::span<const Part> parts) {
    const int32_t next = wire.of(wire.me() + 1);
    const int32_t previous = wire.of(wire.me() - 1);
    for (int32_t s = 0; s < wire.size() - 1; ++s) {
        const Part leaving = parts[static_cast<std::size_t>(wire.of(wire.me() - s))];
        wire.post(next, out + wire.bytes(leaving.first), leaving.elements);
        const int32_t chunk = wire.of(wire.me() - s - 1);
        const Part coming = parts[static_cast<std::size_t>(chunk)];
        wire.receive_copy(previous, {s, chunk, coming.first, coming.elements, false},
                          out + wire.bytes(coming.first));
    }
    wire.wait_all();
}

}  // namespace meshscope::comm
