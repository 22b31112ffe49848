#include "core/comm/native_group.h"

#include <utility>

#include "core/base/error.h"
#include "core/comm/native_whole.h"
#include "core/comm/run_collective.h"
#include "core/comm/wire.h"

namespace meshscope::comm {

struct NativeGroup::Members {
    std::vector<GlobalRank> ranks;
    int32_t me = 0;
    Channel pairs;
    std::unique_ptr<NativeCollectives> native;
    bool whole = false;  ///< every call is the library's: see NativeWhole

    /// Runs a call of this group. Running thread.
    void run(const Work::State& state) const;
};

NativeGroup::NativeGroup(StreamExecutor& executor, int32_t index, std::string name,
                         std::vector<GlobalRank> ranks, Channel channel, trace::Recorder* recorder,
                         bool watches_peers)
    : RecordedGroup(executor,
                    std::make_shared<CallingGroup>(CallingGroup{{index, std::move(name), ranks}, 0, {}}),
                    recorder) {
    std::unique_ptr<NativeCollectives> native =
        executor.transport().native(ranks, Channel{2 * channel.value});
    if (!native) throw InvalidArgument({"comm.no_native", {}});
    if (watches_peers) native->watch_peers();
    const bool whole = dynamic_cast<const NativeWhole*>(native.get()) != nullptr;
    members_ = std::make_shared<const Members>(
        Members{std::move(ranks), rank().value, Channel{2 * channel.value + 1}, std::move(native), whole});
}

NativeGroup::~NativeGroup() = default;

std::function<void()> NativeGroup::runner(Work::State& state, Algorithm) {
    const CheckedCall& call = state.call;
    const bool reduces = call.op == CollectiveOp::all_reduce || call.op == CollectiveOp::reduce ||
                         call.op == CollectiveOp::reduce_scatter;
    const bool ours = size() == 1 && !members_->whole;
    if (reduces && !ours && !members_->native->reduces(call.reduce_op, call.dtype))
        throw InvalidArgument({"comm.native_dtype",
                               {{"reduce_op", std::string(meshscope::name(call.reduce_op))},
                                {"dtype", std::string(meshscope::name(call.dtype))}}});
    state.kept = members_;  // this group may go before the call's turn comes
    return [&state, members = members_.get()] { members->run(state); };
}

void NativeGroup::Members::run(const Work::State& state) const {
    trace::Recorder* const recorder = state.recorder;
    const CheckedCall& call = state.call;
    StreamExecutor& executor = *state.executor;
    const bool alone = ranks.size() == 1;
    executor.transport().begin_call(call.info);
    if (recorder != nullptr)
        recorder->begin_collective(state.event, alone ? Algorithm::none : Algorithm::native);
    int64_t sent_bytes = 0;
    if (call.op == CollectiveOp::send) sent_bytes = call.in_elements * bytes_per_element(call.dtype);
    if (whole) {
        native->run(call);
    } else if (call.op == CollectiveOp::send) {
        executor.post_copy(ranks[static_cast<std::size_t>(call.peer)], pairs,
                           {call.input, static_cast<std::size_t>(sent_bytes)});
    } else if (call.op == CollectiveOp::recv || alone) {
        Wire wire(executor.transport(), ranks, me, pairs, call.dtype, recorder, state.event,
                  executor.queues());
        run_collective(wire, call, alone ? Algorithm::none : Algorithm::direct);
    } else {
        native->run(call);
    }
    executor.transport().end_call();
    if (recorder != nullptr) recorder->end_collective(state.event, sent_bytes);
}

}  // namespace meshscope::comm
