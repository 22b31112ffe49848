#include "core/parallel/pipeline/schedules/schedules.h"

namespace meshscope::parallel::pipeline::schedules {

/// All forwards, then all backwards, in the same order (Huang et al., GPipe, arXiv 1811.06965; PyTorch's
/// ScheduleGPipe).
std::vector<Slot> gpipe(const ScheduleShape& shape, int32_t rank) {
    std::vector<Slot> slots;
    for (int32_t m = 0; m < shape.microbatches; ++m)
        slots.push_back(Action{ActionKind::forward, rank, m, {}});
    for (int32_t m = 0; m < shape.microbatches; ++m)
        slots.push_back(Action{ActionKind::backward, rank, m, {}});
    return slots;
}

}  // namespace meshscope::parallel::pipeline::schedules
