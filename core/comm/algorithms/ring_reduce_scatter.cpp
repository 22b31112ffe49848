// Ring reduce-scatter: partial sums travel, and end at the rank that keeps them.
//
// Rank r sends to r+1 and receives from r-1.
//   rounds 0 … p-2 (s): r sends its partial sum of part r-s-1 (in round 0 its own numbers) and receives
//                       that of part r-s-2, to which it adds its own numbers; the last one is part r, the
//                       result
//
// Steps p-1. Bytes a rank sends: all parts but its own; n(p-1)/p for n elements in even parts. The input is
// not written; partial sums lie in two scratch buffers of the largest part, used in turn. Order of reduction,
// part c: ((x[c+1] + x[c+2]) + … + x[c-1]) + x[c], ranks counted around the ring; bfloat16 is rounded at each
// hop. AVG divides once, by p, after the last addition. Source: Patarasu and Yuan 2009; NCCL's ring.
#include <algorithm>
#include <array>

#include "core/comm/algorithms/algorithms.h"

namespace meshscope::comm {

void ring_reduce_scatter(Wire& wire, ReduceOp op, std::byte* out, const std::byte* in,
                         std::span<const Part> parts) {
    const int32_t p = wire.size();
    const int32_t next = wire.of(wire.me() + 1);
    const int32_t previous = wire.of(wire.me() - 1);
    const auto part = [&](int32_t chunk) { return parts[static_cast<std::size_t>(chunk)]; };

    int64_t largest = 0;
    for (const Part& each : parts) largest = std::max(largest, each.elements);
    std::array<std::byte*, 2> scratch{};
    for (std::size_t i = 0; i < 2 && static_cast<int32_t>(i) < p - 2; ++i) scratch[i] = wire.scratch(largest);

    const std::byte* leaving = in + wire.bytes(part(wire.of(wire.me() - 1)).first);
    std::vector<Wire::Post> posts;
    for (int32_t s = 0; s < p - 1; ++s) {
        posts.push_back(wire.post(next, leaving, part(wire.of(wire.me() - s - 1)).elements));
        const int32_t chunk = wire.of(wire.me() - s - 2);
        const Part coming = part(chunk);
        const bool last = s == p - 2;
        std::byte* const target = last ? out : scratch[static_cast<std::size_t>(s % 2)];
        // What this scratch buffer held left in round s-1.
        if (s >= 2 && !last) wire.wait(posts[static_cast<std::size_t>(s - 1)]);
        wire.receive(previous, {s, chunk, coming.first, coming.elements, true}, [&](const std::byte* from) {
            wire.reduce_pair(op, target, from, in + wire.bytes(coming.first), coming.elements);
        });
        leaving = target;
    }
    wire.finish_reduce(op, out, part(wire.me()).elements, p);
    wire.wait_all();
}

}  // namespace meshscope::comm
