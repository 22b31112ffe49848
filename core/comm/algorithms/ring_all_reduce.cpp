// Ring all-reduce: a ring reduce-scatter, then a ring all-gather, in place.
//
// The buffer is cut as torch.chunk cuts (chunk_parts): p chunks of ceil(n/p), the tail short or empty; empty
// chunks travel as messages of 0 bytes, so the rounds are the same for every n. Rank r sends to r+1 and
// receives from r-1.
//   rounds 0 … p-2    (s): r sends chunk r-s-1 and adds what it receives into chunk r-s-2;
//                          after them r holds the whole sum of chunk r (and divides it, for AVG)
//   rounds p-1 … 2p-3 (s): r sends chunk r-s and receives chunk r-s-1 into its place
//
// Steps 2(p-1). Bytes a rank sends: 2n - |chunk r| - |chunk r+1| elements, which is 2n(p-1)/p when p divides
// n. Order of reduction, chunk c: ((x[c+1] + x[c+2]) + … + x[c-1]) + x[c], ranks counted around the ring;
// bfloat16 is rounded at each hop, because that is what travels. AVG divides once, by p, after the last
// addition. Source: Patarasu and Yuan, "Bandwidth optimal all-reduce algorithms for clusters of
// workstations", 2009; NCCL's ring.
#include "core/comm/algorithms/algorithms.h"
#include "core/comm/reduce.h"

namespace meshscope::comm {

void ring_all_reduce(Wire& wire, ReduceOp op, std::byte* data, int64_t n) {
    const int32_t p = wire.size();
    const int32_t next = wire.of(wire.me() + 1);
    const int32_t previous = wire.of(wire.me() - 1);
    const std::vector<Part> parts = chunk_parts(n, p);
    const auto part = [&](int32_t chunk) { return parts[static_cast<std::size_t>(chunk)]; };
    const auto at = [&](const Part& piece) { return data + wire.bytes(piece.first); };

    std::vector<Wire::Post> posts;
    for (int32_t s = 0; s < p - 1; ++s) {
        const Part out = part(wire.of(wire.me() - s - 1));
        posts.push_back(wire.post(next, at(out), out.elements));
        const int32_t chunk = wire.of(wire.me() - s - 2);
        const Part in = part(chunk);
        wire.receive(previous, {s, chunk, in.first, in.elements, true}, [&](const std::byte* from) {
            reduce_into(op, wire.dtype(), at(in), from, in.elements);
        });
    }
    const Part mine = part(wire.me());
    finish_reduce(op, wire.dtype(), at(mine), mine.elements, p);

    for (int32_t s = 0; s < p - 1; ++s) {
        const Part out = part(wire.of(wire.me() - s));
        wire.post(next, at(out), out.elements);
        const int32_t chunk = wire.of(wire.me() - s - 1);
        const Part in = part(chunk);
        // This chunk left in round s of the first half. Its sum can only be here because the next rank read
        // it then.
        wire.wait(posts[static_cast<std::size_t>(s)]);
        wire.receive(previous, {p - 1 + s, chunk, in.first, in.elements, false},
                     [&](const std::byte* from) { copy_bytes(at(in), from, wire.bytes(in.elements)); });
    }
    wire.wait_all();
}

}  // namespace meshscope::comm
