#include "core/comm/recorded_group.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "core/base/cause.h"
#include "core/base/error.h"
#include "core/comm/choice.h"
#include "core/comm/message_errors.h"
#include "core/comm/schedule/own/own_algorithm.h"

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
CallShape shape_of(const IssuedCall& call, bool shares_memory) {
    int64_t n = std::max(call.in_elements, call.out_elements);
    if (call.op == CollectiveOp::all_gather) n = total(call.out_parts);
    if (call.op == CollectiveOp::reduce_scatter) n = total(call.in_parts);
    return {n * bytes_per_element(call.dtype), call.counts_named, shares_memory};
}

/// Whether a call is run by the group's own algorithm: one for this op. It must be for so many ranks, and
/// proved.
bool runs_own(const CallingGroup& group, const IssuedCall& call) {
    const OwnAlgorithm* const own = group.options.own.get();
    if (own == nullptr || own->op() != call.op) return false;
    if (call.op == CollectiveOp::all_to_all && call.counts_named)
        return false;  // the others' counts are not known
    const auto p = static_cast<int32_t>(group.ranks.size());
    if (!own->fits(p))
        throw InvalidArgument(
            with_cause({"algorithm.group",
                        {{"op", std::string(name(call.op))}, {"group", group.name}, {"ranks", int64_t{p}}}},
                       own->misfit(p)));
    own->proved(p);
    return true;
}

}  // namespace

RecordedGroup::RecordedGroup(StreamExecutor& executor, std::shared_ptr<CallingGroup> group,
                             trace::Recorder* recorder)
    : executor_(executor),
      recorder_(recorder),
      shares_memory_(executor.transport().abilities().shares_memory),
      next_sent_(group->ranks.size()),
      next_received_(group->ranks.size()) {
    const std::vector<GlobalRank>& ranks = group->ranks;
    const GlobalRank me = executor.transport().rank();
    check_members(ranks, me, executor.transport().world_size(), group->name);
    group->me = static_cast<int32_t>(std::find(ranks.begin(), ranks.end(), me) - ranks.begin());
    group_ = std::move(group);
}

Algorithm RecordedGroup::algorithm_of(const CollectiveCall& call, const IssuedCall& checked) const {
    const auto p = static_cast<int32_t>(group_->ranks.size());
    const Algorithm ours = group_->options.algorithm;
    if (ours == Algorithm::native) return p == 1 ? Algorithm::none : ours;
    const Algorithm wanted = call.options->algorithm != Algorithm::none ? call.options->algorithm : ours;
    if (wanted == Algorithm::own && p > 1 && runs_own(*group_, checked)) return Algorithm::own;
    return choose_algorithm(call.op, wanted, p, shape_of(checked, shares_memory_));
}

void RecordedGroup::prepare(const CollectiveCall& call, Work::State& state) const {
    IssuedCall& checked = state.call;
    checked = check_call(call, group_->me, static_cast<int32_t>(group_->ranks.size()));
    group_->accept(checked);
    state.group = group_.get();
    checked.group = group_;
    checked.algorithm = algorithm_of(call, checked);
}

void RecordedGroup::enter(const CollectiveCall& call, Work::State& state) {
    IssuedCall& checked = state.call;
    int32_t& next = checked.op == CollectiveOp::send ? next_sent_[static_cast<std::size_t>(checked.peer)]
                    : checked.op == CollectiveOp::recv
                        ? next_received_[static_cast<std::size_t>(checked.peer)]
                        : next_sequence_;
    checked.sequence = next++;
    if (recorder_ == nullptr) return;
    checked.phase = recorder_->phase();
    checked.step = recorder_->step();
    trace::Event* const event =
        recorder_->enter_collective(checked.stream, call.options->cause, checked.source);
    if (event == nullptr) return;
    state.event = event->id;
    state.recorder = recorder_;
    event->op = checked.op;
    event->reduce_op = checked.reduce_op;
    event->dtype = checked.dtype;
    event->group = group_->index;
    event->sequence = checked.sequence;
    event->peer = checked.peer < 0 ? -1 : group_->ranks[static_cast<std::size_t>(checked.peer)].value;
    event->padding = call.options->padding;
    event->in_elements = checked.in_elements;
    event->out_elements = checked.out_elements;
}

Work RecordedGroup::issue(const CollectiveCall& call) {
    auto state = std::make_shared<Work::State>();
    prepare(call, *state);
    enter(call, *state);
    state->kept = kept();
    state->tensors = {*call.input, *call.output};
    Work work = executor_.submit(std::move(state));
    if (call.options->async_op) return work;
    work.wait();
    return {};
}

}  // namespace meshscope::comm
