#include "core/parallel/pipeline/schedules/interleaved_rank.h"

#include <algorithm>

namespace meshscope::parallel::pipeline::schedules {
namespace {

/// Hands out micro-batches of each stage in order, for one kind of action.
class Counter {
  public:
    Counter(ActionKind kind, int32_t stages) : kind_(kind), next_(static_cast<std::size_t>(stages), 0) {}
    Action next(int32_t stage) { return {kind_, stage, next_[static_cast<std::size_t>(stage)]++, {}}; }

  private:
    ActionKind kind_;
    std::vector<int32_t> next_;
};

}  // namespace

int32_t rounds_of(const ScheduleShape& shape) {
    return std::max(1, shape.microbatches / shape.ranks);
}

std::vector<Slot> interleaved_rank(const ScheduleShape& shape, int32_t rank, int32_t hop_ops,
                                   bool zero_bubble) {
    const int32_t ranks = shape.ranks, local_stages = shape.stages_per_rank;
    const int32_t per_round = shape.microbatches / rounds_of(shape);
    const int32_t forwards = local_stages * shape.microbatches;
    const int32_t warm_up = std::min((local_stages - 1) * per_round + hop_ops * (ranks - 1 - rank), forwards);

    const auto forward_stage = [&](int32_t op) { return op / per_round % local_stages * ranks + rank; };
    const auto backward_stage = [&](int32_t op) {
        return (local_stages - 1 - (op - warm_up) / per_round % local_stages) * ranks + rank;
    };
    Counter forward(ActionKind::forward, shape.stages());
    Counter backward(zero_bubble ? ActionKind::input_grad : ActionKind::backward, shape.stages());
    Counter weight(ActionKind::weight_grad, shape.stages());

    std::vector<Slot> slots(static_cast<std::size_t>(rank));
    for (int32_t op = 0; op < warm_up; ++op) slots.push_back(forward.next(forward_stage(op)));
    // Idle until the first backward has come up to this rank. PyTorch adds these only after a warm-up.
    const int32_t wait =
        zero_bubble ? ranks - rank - 1 : local_stages * ranks + 2 * (ranks - 1 - rank) - (warm_up + rank);
    if (warm_up > 0 && wait > 0) slots.resize(slots.size() + static_cast<std::size_t>(wait));

    int32_t weights_done = 0;  // W's of the backwards in the order these ran
    for (int32_t op = warm_up; op < forwards + warm_up; ++op) {
        if (op < forwards)
            slots.push_back(forward.next(forward_stage(op)));
        else if (!zero_bubble)
            slots.emplace_back();  // in step with ranks that do a forward here
        slots.push_back(backward.next(backward_stage(op)));
        if (zero_bubble && op - warm_up >= rank)
            slots.push_back(weight.next(backward_stage(warm_up + weights_done++)));
    }
    while (zero_bubble && weights_done < forwards)
        slots.push_back(weight.next(backward_stage(warm_up + weights_done++)));
    return slots;
}

}  // namespace meshscope::parallel::pipeline::schedules
