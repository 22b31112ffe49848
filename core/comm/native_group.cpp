#include "core/comm/native_group.h"

#include <utility>

#include "core/base/error.h"
#include "core/comm/native.h"
#include "core/comm/run_collective.h"
#include "core/comm/wire.h"

namespace meshscope::comm {

struct NativeGroup::Members : CallingGroup {
    Members(GroupInfo info, Channel channel)
        : CallingGroup(std::move(info), {.algorithm = Algorithm::native}), pairs(channel) {}

    Channel pairs;
    NativeCollectives* native = nullptr;  ///< the group's and its calls'
    bool whole = false;                   ///< every call is the library's: see NativeLibrary::runs_everything
    bool ours_alone = false;              ///< one rank, and the library is not asked

    void accept(const IssuedCall& call) const override;
    void run(const Work::State& state) const override;
    /// What is not the library's: messages, and calls of one rank with itself.
    void run_ours(const Work::State& state) const;
};

namespace {

int64_t bytes_given(const IssuedCall& call) {
    return call.in_elements * bytes_per_element(call.dtype);
}

}  // namespace

NativeGroup::NativeGroup(StreamExecutor& executor, int32_t index, std::string name,
                         std::vector<GlobalRank> ranks, Channel channel, trace::Recorder* recorder,
                         bool watches_peers)
    : NativeGroup(executor,
                  std::make_shared<Members>(GroupInfo{index, std::move(name), std::move(ranks)},
                                            Channel{2 * channel.value + 1}),
                  channel, recorder, watches_peers) {}

NativeGroup::NativeGroup(StreamExecutor& executor, const std::shared_ptr<Members>& members, Channel channel,
                         trace::Recorder* recorder, bool watches_peers)
    : RecordedGroup(executor, members, recorder) {
    NativeLibrary* const library = executor.transport().abilities().library;
    if (library == nullptr) throw InvalidArgument({"comm.no_native", {}});
    native_ = library->native(members->ranks, Channel{2 * channel.value});
    members->native = native_.get();
    if (watches_peers) native_->watch_peers();
    members->whole = library->runs_everything();
    members->ours_alone = size() == 1 && !members->whole;
}

NativeGroup::~NativeGroup() = default;

void NativeGroup::Members::accept(const IssuedCall& call) const {
    // Only what reduces has a reduce op.
    if (call.reduce_op == ReduceOp::none || ours_alone) return;
    if (!native->reduces(call.reduce_op, call.dtype))
        throw InvalidArgument({"comm.native_dtype",
                               {{"reduce_op", std::string(meshscope::name(call.reduce_op))},
                                {"dtype", std::string(meshscope::name(call.dtype))}}});
}

void NativeGroup::Members::run(const Work::State& state) const {
    const IssuedCall& call = state.call;
    const bool ours =
        ours_alone || (!whole && (call.op == CollectiveOp::send || call.op == CollectiveOp::recv));
    Transport& transport = state.executor->transport();
    transport.begin_call(call);
    if (state.recorder != nullptr) state.recorder->begin_collective(state.event, call.algorithm);
    if (ours)
        run_ours(state);
    else
        native->run(call);
    transport.end_call();
    // Of all but a message nobody tells what travelled.
    if (state.recorder != nullptr)
        state.recorder->end_collective(state.event, call.op == CollectiveOp::send ? bytes_given(call) : 0);
}

void NativeGroup::Members::run_ours(const Work::State& state) const {
    const IssuedCall& call = state.call;
    StreamExecutor& executor = *state.executor;
    if (call.op == CollectiveOp::send && !call.waits)
        return executor.post_copy(call, ranks[static_cast<std::size_t>(call.peer)], pairs,
                                  {call.input, static_cast<std::size_t>(bytes_given(call))});
    Wire wire(executor.transport(), ranks, me, pairs, call.dtype, state.recorder, state.event,
              executor.queues());
    run_collective(wire, call, ours_alone ? Algorithm::none : Algorithm::direct);
}

}  // namespace meshscope::comm
