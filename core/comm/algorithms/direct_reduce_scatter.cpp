// Direct reduce-scatter: every rank reads its own part of all buffers.
//
//   round 0: rank r offers part q to rank q, and reduces part r of all ranks in one pass over memory
//
// Steps 1. Bytes a rank sends: all parts but its own; n(p-1)/p for n elements in even parts. No scratch.
// Order of reduction: ((x[0] + x[1]) + …) + x[p-1] by group rank; bfloat16 is summed in float32 and rounded
// once. AVG divides before that rounding.
#include "core/comm/algorithms/algorithms.h"

namespace meshscope::comm {

void direct_reduce_scatter(Wire& wire, ReduceOp op, std::byte* out, const std::byte* in,
                           std::span<const Part> parts) {
    const auto part = [&](int32_t chunk) { return parts[static_cast<std::size_t>(chunk)]; };
    for (int32_t i = 1; i < wire.size(); ++i) {
        const int32_t peer = wire.of(wire.me() + i);
        wire.post(peer, in + wire.bytes(part(peer).first), part(peer).elements);
    }
    const Part mine = part(wire.me());
    wire.reduce_from_all(op, {0, wire.me(), mine.first, mine.elements, true}, out,
                         in + wire.bytes(mine.first));
    wire.wait_all();
}

}  // namespace meshscope::comm
