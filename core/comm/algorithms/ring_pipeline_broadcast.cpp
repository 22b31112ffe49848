// Ring pipeline broadcast: the buffer passes from rank to rank along the ring in chunks, the next one leaving
// while the last one is on its way further on.
//
// Ranks are renumbered v = r - root (around the group), so the root is 0. The buffer is cut as torch.chunk
// cuts in C = pipeline_chunks.
//   round v-1+c: v-1 sends chunk c to v
//
// Steps p-2+C. Bytes: every rank but the last in the chain sends n, every one but the root receives n. Cost
// (p-2+C)(α + n/C·β): nβ whatever p is, once there are many chunks. Source: Träff, Ripke, Siebert et al., "A
// simple, pipelined algorithm for large, irregular all-gather problems", 2008; Open MPI's chain broadcast;
// NCCL's ring broadcast.
#include "core/base/pipeline.h"
#include "core/comm/algorithms/algorithms.h"

namespace meshscope::comm {

void ring_pipeline_broadcast(Wire& wire, int32_t root, std::byte* data, int64_t n) {
    const int32_t v = wire.of(wire.me() - root);
    const std::vector<Part> chunks = chunk_parts(n, pipeline_chunks(n, wire.bytes(1)));
    int32_t c = 0;
    for (const Part& chunk : chunks) {
        std::byte* const at = data + wire.bytes(chunk.first);
        if (v > 0)
            wire.receive_copy(wire.of(wire.me() - 1), {v - 1 + c, c, chunk.first, chunk.elements, false}, at);
        if (v + 1 < wire.size()) wire.post(wire.of(wire.me() + 1), at, chunk.elements);
        ++c;
    }
    wire.wait_all();
}

}  // namespace meshscope::comm
