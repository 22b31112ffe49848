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
#include "core/comm/algorithms/ring.h"

namespace meshscope::comm {

void ring_all_reduce(Wire& wire, ReduceOp op, std::byte* data, int64_t n) {
    const std::vector<int32_t> ranks = all_ranks(wire);
    const std::vector<Part> parts = chunk_parts(n, wire.size());
    Ring ring(wire, ranks, parts);
    ring.reduce(op, data, {});
    const Part mine = parts[static_cast<std::size_t>(wire.me())];
    wire.finish_reduce(op, data + wire.bytes(mine.first), mine.elements, wire.size());
    ring.gather(data, {wire.size() - 1, 0, 1});
    wire.wait_all();
}

}  // namespace meshscope::comm
