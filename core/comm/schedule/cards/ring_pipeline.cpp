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
#include "core/comm/schedule/card.h"
#include "core/comm/schedule/pipeline_chunks.h"

namespace meshscope::comm::cards {
namespace {

void ring_pipeline_broadcast(Steps& steps) {
    const int32_t p = steps.p(), v = steps.of(steps.me() - steps.root());
    const int32_t chunks = pipeline_chunks(steps.n(), steps.element_bytes());
    steps.rounds(p - 2 + chunks);
    for (int32_t c = 0; c < chunks; ++c) {
        const Stretch chunk = steps.output().part(chunk_part(steps.n(), chunks, c));
        if (v > 0) steps.receive(v - 1 + c, steps.of(steps.me() - 1), c, chunk);
        if (v + 1 < p) steps.send(v + c, steps.of(steps.me() + 1), chunk);
    }
}

}  // namespace

AlgorithmCard ring_pipeline() {
    return {Algorithm::ring_pipeline, {{CollectiveOp::broadcast, ring_pipeline_broadcast}}, {}};
}

}  // namespace meshscope::comm::cards
