#include <deque>

#include "core/parallel/pipeline/schedules/schedules.h"

namespace meshscope::parallel::pipeline::schedules {
namespace {

/// One of the two stages of a rank: how far its forwards and its backwards have come.
struct Chunk {
    int32_t stage = 0;
    int32_t forwards = 0, backwards = 0;
};

class Builder {
  public:
    std::vector<Slot> slots;

    void forward(Chunk& chunk) { slots.push_back(next_forward(chunk)); }
    void backward(Chunk& chunk) { slots.push_back(next_backward(chunk)); }
    /// The input gradient now, the weight gradient when weight() comes to it.
    void input(Chunk& chunk) {
        pending_.push_back({ActionKind::weight_grad, chunk.stage, chunk.backwards, {}});
        slots.push_back(Action{ActionKind::input_grad, chunk.stage, chunk.backwards++, {}});
    }
    void backward(Chunk& chunk, bool split) { split ? input(chunk) : backward(chunk); }
    /// The oldest weight gradient that was put off, if there is one.
    void weight() {
        if (pending_.empty()) return;
        slots.push_back(pending_.front());
        pending_.pop_front();
    }
    /// A forward of one chunk while the other runs backward.
    void overlapped(Chunk& forward_of, Chunk& backward_of) {
        Action both{ActionKind::overlap_f_b, -1, -1, {}};
        both.parts.push_back(next_forward(forward_of));
        both.parts.push_back(next_backward(backward_of));
        slots.push_back(std::move(both));
    }

  private:
    static Action next_forward(Chunk& chunk) {
        return {ActionKind::forward, chunk.stage, chunk.forwards++, {}};
    }
    static Action next_backward(Chunk& chunk) {
        return {ActionKind::backward, chunk.stage, chunk.backwards++, {}};
    }
    std::deque<Action> pending_;
};

}  // namespace

/// DualPipe cut in half: the stages lie in a V, and a forward of one half overlaps a backward of the other
/// (DeepSeek-V3, arXiv 2412.19437; PyTorch's ScheduleDualPipeV, after DeepSeek's own code). The steps are
/// numbered as there.
std::vector<Slot> dual_pipe_v(const ScheduleShape& shape, int32_t rank) {
    const int32_t ranks = shape.ranks;
    Builder build;
    Chunk down{.stage = rank}, up{.stage = shape.stages() - 1 - rank};

    for (int32_t i = 0; i < 2 * (ranks - rank - 1); ++i) build.forward(down);  // 1
    for (int32_t i = 0; i < rank + 1; ++i) {                                   // 2
        build.forward(down);
        build.forward(up);
    }
    for (int32_t i = 0; i < ranks - rank - 1; ++i) {  // 3
        build.input(up);
        build.weight();
        build.forward(up);
    }
    for (int32_t i = 0; i < shape.microbatches - 2 * ranks + rank + 1; ++i) {  // 4
        if (i == 0 && rank == ranks - 1) {  // apart, which makes the bubble smaller
            build.forward(down);
            build.backward(up);
        } else {
            build.overlapped(down, up);
        }
        build.overlapped(up, down);
    }
    for (int32_t i = 0; i < ranks - rank - 1; ++i) {  // 5
        build.backward(up);
        build.overlapped(up, down);
    }
    bool split = false;  // 6: the second half puts its weight gradients off
    for (int32_t i = 0; i < rank + 1; ++i) {
        if (i == (rank + 1) / 2 && rank % 2 == 1) split = true;
        build.backward(up, split);
        if (i == (rank + 1) / 2 && rank % 2 == 0) split = true;
        build.backward(down, split);
    }
    for (int32_t i = 0; i < ranks - rank - 1; ++i) {  // 7
        build.weight();
        build.backward(down, split);
    }
    for (int32_t i = 0; i < rank + 1; ++i) build.weight();  // 8
    return std::move(build.slots);
}

}  // namespace meshscope::parallel::pipeline::schedules
