#include <array>
#include <set>

#include "core/parallel/pipeline/schedules/interleaved_rank.h"
#include "core/parallel/pipeline/schedules/schedules.h"

namespace meshscope::parallel::pipeline::schedules {

/// ZB1P over several stages a rank: weight gradients fill what would be bubbles (Qi et al., arXiv 2401.10241;
/// PyTorch's ScheduleInterleavedZeroBubble).
std::vector<Slot> interleaved_zero_bubble(const ScheduleShape& shape, int32_t rank) {
    return interleaved_rank(shape, rank, 1, true);
}

void add_forward_bubbles(std::vector<std::vector<Slot>>& order) {
    std::vector<std::vector<Slot>> result(order.size());
    std::vector<std::size_t> next(order.size(), 0);
    std::set<std::array<int32_t, 2>> forwards_done;  // (stage, micro-batch)
    for (bool working = true; working;) {
        working = false;
        std::vector<std::array<int32_t, 2>> done_in_this_slot;
        for (std::size_t rank = 0; rank < order.size(); ++rank) {
            if (next[rank] >= order[rank].size()) continue;
            working = true;
            const Slot& slot = order[rank][next[rank]];
            const bool too_early = slot && slot->kind == ActionKind::forward && slot->stage > 0 &&
                                   !forwards_done.contains({slot->stage - 1, slot->microbatch});
            if (too_early) {
                result[rank].emplace_back();
                continue;
            }
            if (slot && slot->kind == ActionKind::forward)
                done_in_this_slot.push_back({slot->stage, slot->microbatch});
            result[rank].push_back(slot);
            ++next[rank];
        }
        forwards_done.insert(done_in_this_slot.begin(), done_in_this_slot.end());
    }
    order = std::move(result);
}

}  // namespace meshscope::parallel::pipeline::schedules
