#include "core/comm/recorded_group.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "core/base/error.h"
#include "core/comm/algorithms/algorithms.h"

namespace meshscope::comm {
namespace {

void check_members(const std::vector<GlobalRank>& ranks, GlobalRank me, int32_t world_size,
                   const std::string& group) {
    const auto fail = [&](const char* id) {
        std::vector<int64_t> numbers;
        for (const GlobalRank rank : ranks) numbers.push_back(rank.value);
        throw InvalidArgument({id, {{"group", group}, {"ranks", numbers}, {"rank", int64_t{me.value}}}});
    };
    for (const GlobalRank rank : ranks)
        if (rank.value < 0 || rank.value >= world_size)
            throw InvalidArgument({"comm.rank_outside_world",
                                   {{"rank", int64_t{rank.value}}, {"world_size", int64_t{world_size}}}});
    for (std::size_t i = 1; i < ranks.size(); ++i)
        if (!(ranks[i - 1] < ranks[i])) fail("comm.ranks_not_ascending");
    if (std::find(ranks.begin(), ranks.end(), me) == ranks.end()) fail("comm.not_a_member");
}

}  // namespace

RecordedGroup::RecordedGroup(StreamExecutor& executor, int32_t index, std::string name,
                             std::vector<GlobalRank> ranks, trace::Recorder* recorder, Algorithm algorithm)
    : executor_(executor),
      recorder_(recorder),
      index_(index),
      name_(std::move(name)),
      ranks_(std::move(ranks)),
      algorithm_(algorithm) {
    const GlobalRank me = executor.transport().rank();
    check_members(ranks_, me, executor.transport().world_size(), name_);
    me_ = static_cast<int32_t>(std::find(ranks_.begin(), ranks_.end(), me) - ranks_.begin());
    next_sent_.resize(ranks_.size());
    next_received_.resize(ranks_.size());
}

Work RecordedGroup::issue(CollectiveCall call) {
    CheckedCall checked = check_call(call, me_, size());
    const Algorithm wanted = call.options.algorithm != Algorithm::none ? call.options.algorithm : algorithm_;
    const Algorithm algorithm = choose_algorithm(call.op, wanted, size());
    const bool pair = call.op == CollectiveOp::send || call.op == CollectiveOp::recv;
    int32_t& counter = !pair ? next_sequence_
                       : call.op == CollectiveOp::send
                           ? next_sent_[static_cast<std::size_t>(checked.peer)]
                           : next_received_[static_cast<std::size_t>(checked.peer)];
    const std::shared_ptr<Work::State> state = executor_.new_state();
    if (recorder_ != nullptr) {
        trace::Event draft;
        draft.stream = call.options.stream;
        draft.op = call.op;
        draft.reduce_op = checked.reduce_op;
        draft.dtype = checked.dtype;
        draft.group = index_;
        draft.sequence = counter;
        draft.peer = checked.peer < 0 ? -1 : ranks_[static_cast<std::size_t>(checked.peer)].value;
        draft.padding = static_cast<int32_t>(call.options.padding);
        draft.in_elements = checked.in_elements;
        draft.out_elements = checked.out_elements;
        state->event = recorder_->issue_collective(draft, call.options.cause, call.options.source);
        state->recorder = state->event >= 0 ? recorder_ : nullptr;
    }
    ++counter;

    state->tensors = {std::move(call.input), std::move(call.output)};
    state->call = std::move(checked);
    state->run = runner(*state, algorithm);
    return executor_.submit(state);
}

}  // namespace meshscope::comm
