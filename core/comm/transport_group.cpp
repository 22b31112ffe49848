#include "core/comm/transport_group.h"

#include <algorithm>
#include <utility>

#include "core/base/error.h"
#include "core/comm/algorithms/algorithms.h"
#include "core/comm/call_check.h"
#include "core/comm/reduce.h"
#include "core/comm/run_collective.h"
#include "core/comm/wire.h"

namespace meshscope::comm {

struct TransportGroup::Members {
    std::vector<GlobalRank> ranks;
    int32_t me = 0;
    Channel collectives;
    Channel pairs;
};

namespace {

void check_members(const std::vector<GlobalRank>& ranks, GlobalRank me, int32_t world_size,
                   const std::string& group) {
    std::vector<int64_t> numbers;
    for (const GlobalRank rank : ranks) numbers.push_back(rank.value);
    const auto fail = [&](const char* id) {
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

/// Keeps a small buffer's numbers in the record.
void snapshot(trace::Recorder& recorder, int32_t event, trace::SnapshotKind kind, DType dtype,
              const std::byte* data, int64_t n) {
    if (data == nullptr || n > trace::kMaxRecordedValues || !recorder.records(trace::Level::values)) return;
    recorder.add_snapshot(event, kind,
                          to_floats(dtype, {data, static_cast<std::size_t>(n * bytes_per_element(dtype))}));
}

}  // namespace

TransportGroup::TransportGroup(StreamExecutor& executor, int32_t index, std::string name,
                               std::vector<GlobalRank> ranks, Channel channel, trace::Recorder* recorder,
                               Algorithm algorithm)
    : executor_(executor), index_(index), name_(std::move(name)), recorder_(recorder), algorithm_(algorithm) {
    const GlobalRank me = executor.transport().rank();
    check_members(ranks, me, executor.transport().world_size(), name_);
    auto members = std::make_shared<Members>();
    members->me = static_cast<int32_t>(std::find(ranks.begin(), ranks.end(), me) - ranks.begin());
    members->collectives = Channel{2 * channel.value};
    members->pairs = Channel{2 * channel.value + 1};
    next_sent_.resize(ranks.size());
    next_received_.resize(ranks.size());
    members->ranks = std::move(ranks);
    members_ = std::move(members);
}

TransportGroup::TransportGroup(Transport&, int32_t index, std::string name, std::vector<GlobalRank> ranks,
                               Channel channel, trace::Recorder* recorder, StreamExecutor& executor,
                               Algorithm algorithm)
    : TransportGroup(executor, index, std::move(name), std::move(ranks), channel, recorder, algorithm) {}

TransportGroup::~TransportGroup() = default;

int32_t TransportGroup::size() const {
    return static_cast<int32_t>(members_->ranks.size());
}
GroupRank TransportGroup::rank() const {
    return GroupRank{members_->me};
}
const std::vector<GlobalRank>& TransportGroup::ranks() const {
    return members_->ranks;
}

Work TransportGroup::issue(CollectiveCall call) {
    CheckedCall checked = check_call(call, members_->me, size());
    const Algorithm wanted = call.options.algorithm != Algorithm::none ? call.options.algorithm : algorithm_;
    const Algorithm algorithm = choose_algorithm(call.op, wanted, size());
    const bool pair = call.op == CollectiveOp::send || call.op == CollectiveOp::recv;
    int32_t& counter = !pair ? next_sequence_
                       : call.op == CollectiveOp::send
                           ? next_sent_[static_cast<std::size_t>(checked.peer)]
                           : next_received_[static_cast<std::size_t>(checked.peer)];
    auto state = std::make_shared<Work::State>();
    if (recorder_ != nullptr) {
        trace::Event draft;
        draft.stream = call.options.stream;
        draft.op = call.op;
        draft.reduce_op = checked.reduce_op;
        draft.dtype = checked.dtype;
        draft.group = index_;
        draft.sequence = counter;
        draft.peer = checked.peer < 0 ? -1 : members_->ranks[static_cast<std::size_t>(checked.peer)].value;
        draft.padding = static_cast<int32_t>(call.options.padding);
        draft.in_elements = checked.in_elements;
        draft.out_elements = checked.out_elements;
        state->event = recorder_->issue_collective(draft, call.options.cause, call.options.source);
        state->recorder = state->event >= 0 ? recorder_ : nullptr;
    }
    ++counter;

    state->tensors = {std::move(call.input), std::move(call.output)};
    state->run = [executor = &executor_, members = members_, recorder = state->recorder, event = state->event,
                  algorithm, checked = std::move(checked)] {
        if (recorder != nullptr) {
            recorder->begin_collective(event, algorithm);
            snapshot(*recorder, event, trace::SnapshotKind::input, checked.dtype, checked.input,
                     checked.in_elements);
        }
        int64_t sent_bytes = 0;
        if (checked.op == CollectiveOp::send) {
            sent_bytes = checked.in_elements * bytes_per_element(checked.dtype);
            executor->post_copy(members->ranks[static_cast<std::size_t>(checked.peer)], members->pairs,
                                {checked.input, static_cast<std::size_t>(sent_bytes)});
        } else {
            const Channel channel = checked.op == CollectiveOp::recv ? members->pairs : members->collectives;
            Wire wire(executor->transport(), members->ranks, members->me, channel, checked.dtype, recorder,
                      event);
            run_collective(wire, checked, algorithm);
            sent_bytes = wire.sent_bytes();
        }
        if (recorder == nullptr) return;
        snapshot(*recorder, event, trace::SnapshotKind::output, checked.dtype, checked.output,
                 checked.out_elements);
        recorder->end_collective(event, sent_bytes);
    };
    return executor_.submit(std::move(state));
}

}  // namespace meshscope::comm
