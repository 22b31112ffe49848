#include "core/parallel/pipeline/schedules/interleaved_rank.h"
#include "core/parallel/pipeline/schedules/schedules.h"

namespace meshscope::parallel::pipeline::schedules {

/// 1F1B over several stages a rank, depth first (Narayanan et al., arXiv 2104.04473; PyTorch's
/// ScheduleInterleaved1F1B, which asks M to divide by its rounds instead of by P).
std::vector<Slot> interleaved_1f1b(const ScheduleShape& shape, int32_t rank) {
    return interleaved_rank(shape, rank, 2, false);
}

}  // namespace meshscope::parallel::pipeline::schedules
