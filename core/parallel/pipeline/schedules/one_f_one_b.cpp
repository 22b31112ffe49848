#include <algorithm>

#include "core/parallel/pipeline/schedules/schedules.h"

namespace meshscope::parallel::pipeline::schedules {

/// min(M, P - rank) forwards to fill the pipeline, then one backward and one forward in turn, then the
/// backwards that are left (PipeDream-Flush, Narayanan et al., arXiv 2006.09503; PyTorch's
/// Schedule1F1B._step_microbatches).
std::vector<Slot> one_f_one_b(const ScheduleShape& shape, int32_t rank) {
    const int32_t warm_up = std::min(shape.microbatches, shape.ranks - rank);
    std::vector<Slot> slots;
    int32_t forward = 0;
    while (forward < warm_up) slots.push_back(Action{ActionKind::forward, rank, forward++, {}});
    for (int32_t backward = 0; backward < shape.microbatches; ++backward) {
        slots.push_back(Action{ActionKind::backward, rank, backward, {}});
        if (forward < shape.microbatches) slots.push_back(Action{ActionKind::forward, rank, forward++, {}});
    }
    return slots;
}

}  // namespace meshscope::parallel::pipeline::schedules
