#include "core/comm/native_group.h"

#include <utility>

#include "core/base/error.h"
#include "core/comm/run_collective.h"
#include "core/comm/wire.h"

namespace meshscope::comm {

struct NativeGroup::Members {
    std::vector<GlobalRank> ranks;
    int32_t me = 0;
    Channel pairs;
    std::unique_ptr<NativeCollectives> native;
};

NativeGroup::NativeGroup(StreamExecutor& executor, int32_t index, std::string name,
                         std::vector<GlobalRank> ranks, Channel channel, trace::Recorder* recorder)
    : RecordedGroup(executor, index, std::move(name), ranks, recorder, GroupOptions{}) {
    std::unique_ptr<NativeCollectives> native =
        executor.transport().native(ranks, Channel{2 * channel.value});
    if (!native) throw InvalidArgument({"comm.no_native", {}});
    members_ = std::make_shared<const Members>(
        Members{std::move(ranks), rank().value, Channel{2 * channel.value + 1}, std::move(native)});
}

NativeGroup::~NativeGroup() = default;

std::function<void()> NativeGroup::runner(CheckedCall call, Algorithm, int32_t event) {
    const bool reduces = call.op == CollectiveOp::all_reduce || call.op == CollectiveOp::reduce ||
                         call.op == CollectiveOp::reduce_scatter;
    const bool alone = size() == 1;
    if (reduces && !alone && !members_->native->reduces(call.reduce_op, call.dtype))
        throw InvalidArgument({"comm.native_dtype",
                               {{"reduce_op", std::string(meshscope::name(call.reduce_op))},
                                {"dtype", std::string(meshscope::name(call.dtype))}}});
    return [executor = &executor_, members = members_, recorder = event >= 0 ? recorder_ : nullptr, event,
            alone, checked = std::move(call)] {
        executor->transport().begin_call(checked.info);
        if (recorder) recorder->begin_collective(event, alone ? Algorithm::none : Algorithm::native);
        int64_t sent_bytes = 0;
        if (checked.op == CollectiveOp::send) {
            sent_bytes = checked.in_elements * bytes_per_element(checked.dtype);
            executor->post_copy(members->ranks[static_cast<std::size_t>(checked.peer)], members->pairs,
                                {checked.input, static_cast<std::size_t>(sent_bytes)});
        } else if (checked.op == CollectiveOp::recv || alone) {
            Wire wire(executor->transport(), members->ranks, members->me, members->pairs, checked.dtype,
                      recorder, event);
            run_collective(wire, checked, alone ? Algorithm::none : Algorithm::direct);
        } else {
            members->native->run(checked);
        }
        executor->transport().end_call();
        if (recorder) recorder->end_collective(event, sent_bytes);
    };
}

}  // namespace meshscope::comm
