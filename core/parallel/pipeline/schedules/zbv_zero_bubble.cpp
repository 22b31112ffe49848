#include <algorithm>

#include "core/parallel/pipeline/schedules/schedules.h"

namespace meshscope::parallel::pipeline::schedules {
namespace {

/// One of the two stages of a rank: how far its forwards, input and weight gradients have come.
struct Chunk {
    int32_t stage = 0;
    int32_t forwards = 0, inputs = 0, weights = 0;

    Slot forward() { return Action{ActionKind::forward, stage, forwards++, {}}; }
    Slot input() { return Action{ActionKind::input_grad, stage, inputs++, {}}; }
    Slot weight() { return Action{ActionKind::weight_grad, stage, weights++, {}}; }
};

}  // namespace

/// ZB-V: stages down and back up the ranks, so that the last stage stands beside the first; no bubble in the
/// middle when F, I and W take the same time (Qi et al., arXiv 2401.10241, section 6; PyTorch's
/// ScheduleZBVZeroBubble).
std::vector<Slot> zbv_zero_bubble(const ScheduleShape& shape, int32_t rank) {
    // Made for at least as many micro-batches as fill the pipeline; those too many are dropped at the end.
    const int32_t microbatches = std::max(2 * shape.ranks - 1, shape.microbatches);
    std::vector<Slot> slots(static_cast<std::size_t>(rank));
    Chunk down{.stage = rank}, up{.stage = shape.stages() - 1 - rank};

    for (int32_t i = 0; i < 2 * (shape.ranks - rank) - 1; ++i) slots.push_back(down.forward());
    for (int32_t i = 0; i < rank; ++i) {
        slots.push_back(up.forward());
        slots.push_back(down.forward());
    }
    const auto up_round = [&] {
        slots.push_back(up.forward());
        slots.push_back(up.input());
        slots.push_back(up.weight());
    };
    for (int32_t i = 0; i < shape.ranks - rank; ++i) up_round();
    while (up.forwards < down.forwards || down.forwards < microbatches) {
        if (down.forwards < microbatches) slots.push_back(down.forward());
        slots.push_back(down.input());
        slots.push_back(down.weight());
        up_round();
    }
    for (int32_t i = 0; i < rank; ++i) {
        slots.push_back(down.input());
        slots.push_back(up.input());
    }
    for (int32_t i = 0; i < shape.ranks - rank; ++i) {
        slots.push_back(down.input());
        slots.push_back(down.weight());
    }
    while (up.weights < up.inputs) slots.push_back(up.weight());
    while (down.weights < down.inputs) slots.push_back(down.weight());

    for (Slot& slot : slots)
        if (slot && slot->microbatch >= shape.microbatches) slot.reset();
    return slots;
}

}  // namespace meshscope::parallel::pipeline::schedules
