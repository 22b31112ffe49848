#include "core/parallel/pipeline/schedules/schedules.h"

namespace meshscope::parallel::pipeline::schedules {

/// Breadth first: a rank takes all micro-batches through its first stage, then all through its next;
/// backwards in the reverse order of both (Lamy-Poirier, arXiv 2211.05953; PyTorch's ScheduleLoopedBFS).
std::vector<Slot> looped_bfs(const ScheduleShape& shape, int32_t rank) {
    std::vector<Slot> slots(static_cast<std::size_t>(rank));
    for (int32_t stage = rank; stage < shape.stages(); stage += shape.ranks)
        for (int32_t m = 0; m < shape.microbatches; ++m)
            slots.push_back(Action{ActionKind::forward, stage, m, {}});
    // The first backward comes up two slots later for every rank it has to pass.
    slots.resize(slots.size() + static_cast<std::size_t>(2 * (shape.ranks - 1 - rank)));
    for (int32_t stage = shape.stages() - shape.ranks + rank; stage >= 0; stage -= shape.ranks)
        for (int32_t m = shape.microbatches; m-- > 0;)
            slots.push_back(Action{ActionKind::backward, stage, m, {}});
    return slots;
}

}  // namespace meshscope::parallel::pipeline::schedules
