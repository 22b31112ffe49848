#include "core/comm/process_group.h"

#include <utility>

#include "core/comm/stream_executor.h"

namespace meshscope::comm {

Work::Work() = default;
Work::Work(std::shared_ptr<State> state) : state_(std::move(state)) {}
Work::Work(Work&&) noexcept = default;
Work& Work::operator=(Work&&) noexcept = default;
Work::~Work() = default;

bool Work::done() const {
    return !state_ || state_->ended.load(std::memory_order_acquire);
}

void Work::wait(Stream waiter) {
    if (!state_) return;
    run();
    if (state_->executor != nullptr) state_->executor->await_receipt(state_);
    if (state_->recorder != nullptr) state_->recorder->depend(waiter, state_->event);
}

void Work::run() {
    if (!state_) return;
    // Asked even when it has ended: this is the moment at which its tensors are let go.
    if (state_->executor != nullptr) state_->executor->await(state_->position);
    if (state_->error) std::rethrow_exception(state_->error);
}

int32_t Work::event() const {
    return !state_ ? -1 : state_->event;
}

Work ProcessGroup::broadcast(const Tensor& in_out, GroupRank root, const CallOptions& options) {
    return issue({.op = CollectiveOp::broadcast,
                  .peer = root,
                  .output = &in_out,
                  .in_place = true,
                  .options = &options});
}

Work ProcessGroup::reduce(const Tensor& in_out, GroupRank root, ReduceOp op, const CallOptions& options) {
    return issue({.op = CollectiveOp::reduce,
                  .reduce_op = op,
                  .peer = root,
                  .output = &in_out,
                  .in_place = true,
                  .options = &options});
}

Work ProcessGroup::all_reduce(const Tensor& in_out, ReduceOp op, const CallOptions& options) {
    return issue({.op = CollectiveOp::all_reduce,
                  .reduce_op = op,
                  .output = &in_out,
                  .in_place = true,
                  .options = &options});
}

Work ProcessGroup::gather(const Tensor& output, const Tensor& input, GroupRank root,
                          const std::vector<int64_t>& counts, const CallOptions& options) {
    return issue({.op = CollectiveOp::gather,
                  .peer = root,
                  .input = &input,
                  .output = &output,
                  .output_counts = counts,
                  .options = &options});
}

Work ProcessGroup::scatter(const Tensor& output, const Tensor& input, GroupRank root,
                           const std::vector<int64_t>& counts, const CallOptions& options) {
    return issue({.op = CollectiveOp::scatter,
                  .peer = root,
                  .input = &input,
                  .output = &output,
                  .input_counts = counts,
                  .options = &options});
}

Work ProcessGroup::all_gather(const Tensor& output, const Tensor& input, const std::vector<int64_t>& counts,
                              const CallOptions& options) {
    return issue({.op = CollectiveOp::all_gather,
                  .input = &input,
                  .output = &output,
                  .output_counts = counts,
                  .options = &options});
}

Work ProcessGroup::reduce_scatter(const Tensor& output, const Tensor& input, ReduceOp op,
                                  const std::vector<int64_t>& counts, const CallOptions& options) {
    return issue({.op = CollectiveOp::reduce_scatter,
                  .reduce_op = op,
                  .input = &input,
                  .output = &output,
                  .input_counts = counts,
                  .options = &options});
}

Work ProcessGroup::all_to_all(const Tensor& output, const Tensor& input,
                              const std::vector<int64_t>& output_counts,
                              const std::vector<int64_t>& input_counts, const CallOptions& options) {
    return issue({.op = CollectiveOp::all_to_all,
                  .input = &input,
                  .output = &output,
                  .input_counts = input_counts,
                  .output_counts = output_counts,
                  .options = &options});
}

Work ProcessGroup::send(const Tensor& input, GroupRank to, const CallOptions& options) {
    return issue({.op = CollectiveOp::send, .peer = to, .input = &input, .options = &options});
}

Work ProcessGroup::recv(const Tensor& output, GroupRank from, const CallOptions& options) {
    return issue({.op = CollectiveOp::recv, .peer = from, .output = &output, .options = &options});
}

Work ProcessGroup::barrier(const CallOptions& options) {
    return issue({.op = CollectiveOp::barrier, .options = &options});
}

}  // namespace meshscope::comm
