#include "core/comm/recorded_group.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "core/base/error.h"
#include "core/comm/choice.h"
#include "core/comm/message_errors.h"

namespace meshscope::comm {
namespace {

void check_members(const std::vector<GlobalRank>& ranks, GlobalRank me, int32_t world_size,
                   const std::string& group) {
    const auto fail = [&](const char* id) {
        std::vector<int64_t> numbers;
        for (const GlobalRank rank : ranks) numbers.push_back(rank.value);
        throw InvalidArgument({id, {{"group", group}, {"ranks", numbers}, {"rank", int64_t{me.value}}}});
    };
    for (const GlobalRank rank : ranks) check_rank(rank, world_size);
    for (std::size_t i = 1; i < ranks.size(); ++i)
        if (!(ranks[i - 1] < ranks[i])) fail("comm.ranks_not_ascending");
    if (std::find(ranks.begin(), ranks.end(), me) == ranks.end()) fail("comm.not_a_member");
}

/// What all members know alike of a call.
CallShape shape_of(const CheckedCall& call, bool shares_memory) {
    int64_t n = std::max(call.in_elements, call.out_elements);
    if (call.op == CollectiveOp::all_gather) n = total(call.out_parts);
    if (call.op == CollectiveOp::reduce_scatter) n = total(call.in_parts);
    return {n * bytes_per_element(call.dtype), call.counts_named, shares_memory};
}

}  // namespace

RecordedGroup::RecordedGroup(StreamExecutor& executor, std::shared_ptr<CallingGroup> group,
                             trace::Recorder* recorder)
    : executor_(executor),
      recorder_(recorder),
      next_sent_(group->ranks.size()),
      next_received_(group->ranks.size()) {
    const std::vector<GlobalRank>& ranks = group->ranks;
    const GlobalRank me = executor.transport().rank();
    check_members(ranks, me, executor.transport().world_size(), group->name);
    group->me = static_cast<int32_t>(std::find(ranks.begin(), ranks.end(), me) - ranks.begin());
    group_ = std::move(group);
    draft_.group = group_->index;
}

void RecordedGroup::describe(CheckedCall& checked, const CollectiveCall& call, Algorithm algorithm,
                             int32_t sequence) const {
    CallInfo& info = checked.info;
    info.group = group_;  // a state that is used again nearly always comes from this group: then uncounted
    info.op = checked.op;
    info.reduce_op = checked.reduce_op;
    info.dtype = checked.dtype;
    info.stream = call.options.stream;
    info.algorithm = algorithm;
    info.sequence = sequence;
    if (recorder_ != nullptr) {
        info.phase = recorder_->phase();
        info.step = recorder_->step();
    }
    info.peer = checked.peer;
    info.in_elements = checked.in_elements;
    info.out_elements = checked.out_elements;
    info.factor = checked.factor;
    info.source = call.options.source;
}

Work RecordedGroup::issue(CollectiveCall&& call) {
    LocalPtr<Work::State> state = executor_.new_state();
    CheckedCall& checked = state->call;
    check_call(call, group_->me, size(), checked);
    const Algorithm wanted =
        call.options.algorithm != Algorithm::none ? call.options.algorithm : options().algorithm;
    const Algorithm algorithm =
        choose_algorithm(call.op, wanted, size(), shape_of(checked, executor_.transport().shares_memory()));
    const bool pair = call.op == CollectiveOp::send || call.op == CollectiveOp::recv;
    int32_t& counter = !pair ? next_sequence_
                       : call.op == CollectiveOp::send
                           ? next_sent_[static_cast<std::size_t>(checked.peer)]
                           : next_received_[static_cast<std::size_t>(checked.peer)];
    if (recorder_ != nullptr) {
        draft_.stream = call.options.stream;
        draft_.op = call.op;
        draft_.reduce_op = checked.reduce_op;
        draft_.dtype = checked.dtype;
        draft_.sequence = counter;
        draft_.peer = checked.peer < 0 ? -1 : ranks()[static_cast<std::size_t>(checked.peer)].value;
        draft_.padding = static_cast<int32_t>(call.options.padding);
        draft_.in_elements = checked.in_elements;
        draft_.out_elements = checked.out_elements;
        state->event = recorder_->issue_collective(draft_, call.options.cause, call.options.source);
        state->recorder = state->event >= 0 ? recorder_ : nullptr;
    }
    describe(checked, call, algorithm, counter);
    ++counter;

    state->tensors[0] = std::move(call.input);
    state->tensors[1] = std::move(call.output);
    state->run = runner(*state, algorithm);
    return executor_.submit(std::move(state));
}

}  // namespace meshscope::comm
