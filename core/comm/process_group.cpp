#include "core/comm/process_group.h"

#include <utility>

#include "core/comm/stream_executor.h"

namespace meshscope::comm {

Work::Work() = default;
Work::Work(LocalPtr<State> state) : state_(std::move(state)) {}
Work::Work(Work&&) noexcept = default;
Work& Work::operator=(Work&&) noexcept = default;
Work::~Work() = default;

bool Work::done() const {
    return !state_ || state_->ended.load(std::memory_order_acquire);
}

void Work::wait(Stream waiter) {
    if (!state_) return;
    // Asked even when it has ended: this is the moment at which its tensors are let go.
    if (state_->executor != nullptr) state_->executor->await(state_->position);
    if (state_->error) std::rethrow_exception(state_->error);
    if (state_->recorder != nullptr) state_->recorder->depend(waiter, state_->event);
}

int32_t Work::event() const {
    return !state_ ? -1 : state_->event;
}

namespace {

// Calls are filled in where they lie, member by member: a small collective takes as long as making or moving
// its call a few times.

CollectiveCall make_call(CollectiveOp op, Tensor&& output, Tensor&& input, const CallOptions& options) {
    CollectiveCall call;
    call.op = op;
    call.input = std::move(input);
    call.output = std::move(output);
    call.options = options;
    return call;
}

CollectiveCall make_call_in_place(CollectiveOp op, Tensor&& in_out, const CallOptions& options) {
    CollectiveCall call;
    call.op = op;
    call.in_place = true;
    call.output = std::move(in_out);
    call.options = options;
    return call;
}

}  // namespace

Work ProcessGroup::broadcast(Tensor in_out, GroupRank root, const CallOptions& options) {
    CollectiveCall call = make_call_in_place(CollectiveOp::broadcast, std::move(in_out), options);
    call.peer = root;
    return issue(std::move(call));
}

Work ProcessGroup::reduce(Tensor in_out, GroupRank root, ReduceOp op, const CallOptions& options) {
    CollectiveCall call = make_call_in_place(CollectiveOp::reduce, std::move(in_out), options);
    call.peer = root;
    call.reduce_op = op;
    return issue(std::move(call));
}

Work ProcessGroup::all_reduce(Tensor in_out, ReduceOp op, const CallOptions& options) {
    CollectiveCall call = make_call_in_place(CollectiveOp::all_reduce, std::move(in_out), options);
    call.reduce_op = op;
    return issue(std::move(call));
}

Work ProcessGroup::gather(Tensor output, Tensor input, GroupRank root, std::vector<int64_t> counts,
                          const CallOptions& options) {
    CollectiveCall call = make_call(CollectiveOp::gather, std::move(output), std::move(input), options);
    call.peer = root;
    call.output_counts = std::move(counts);
    return issue(std::move(call));
}

Work ProcessGroup::scatter(Tensor output, Tensor input, GroupRank root, std::vector<int64_t> counts,
                           const CallOptions& options) {
    CollectiveCall call = make_call(CollectiveOp::scatter, std::move(output), std::move(input), options);
    call.peer = root;
    call.input_counts = std::move(counts);
    return issue(std::move(call));
}

Work ProcessGroup::all_gather(Tensor output, Tensor input, std::vector<int64_t> counts,
                              const CallOptions& options) {
    CollectiveCall call = make_call(CollectiveOp::all_gather, std::move(output), std::move(input), options);
    call.output_counts = std::move(counts);
    return issue(std::move(call));
}

Work ProcessGroup::reduce_scatter(Tensor output, Tensor input, ReduceOp op, std::vector<int64_t> counts,
                                  const CallOptions& options) {
    CollectiveCall call =
        make_call(CollectiveOp::reduce_scatter, std::move(output), std::move(input), options);
    call.reduce_op = op;
    call.input_counts = std::move(counts);
    return issue(std::move(call));
}

Work ProcessGroup::all_to_all(Tensor output, Tensor input, std::vector<int64_t> output_counts,
                              std::vector<int64_t> input_counts, const CallOptions& options) {
    CollectiveCall call = make_call(CollectiveOp::all_to_all, std::move(output), std::move(input), options);
    call.output_counts = std::move(output_counts);
    call.input_counts = std::move(input_counts);
    return issue(std::move(call));
}

Work ProcessGroup::send(Tensor input, GroupRank to, const CallOptions& options) {
    CollectiveCall call = make_call(CollectiveOp::send, {}, std::move(input), options);
    call.peer = to;
    return issue(std::move(call));
}

Work ProcessGroup::recv(Tensor output, GroupRank from, const CallOptions& options) {
    CollectiveCall call = make_call(CollectiveOp::recv, std::move(output), {}, options);
    call.peer = from;
    return issue(std::move(call));
}

Work ProcessGroup::barrier(const CallOptions& options) {
    return issue(make_call(CollectiveOp::barrier, {}, {}, options));
}

}  // namespace meshscope::comm
