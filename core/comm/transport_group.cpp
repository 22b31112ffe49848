#include "core/comm/transport_group.h"

#include <optional>
#include <span>
#include <utility>

#include "core/comm/compare_calls.h"
#include "core/comm/reduce.h"
#include "core/comm/run_collective.h"
#include "core/comm/wire.h"

namespace meshscope::comm {

struct TransportGroup::Members {
    std::vector<GlobalRank> ranks;
    int32_t me = 0;
    Channel collectives;
    Channel pairs;
    GroupOptions options;
};

namespace {

/// Keeps a small buffer's numbers in the record.
void snapshot(trace::Recorder& recorder, int32_t event, trace::SnapshotKind kind, DType dtype,
              const std::byte* data, int64_t n) {
    if (data == nullptr || n > trace::kMaxRecordedValues || !recorder.records(trace::Level::values)) return;
    recorder.add_snapshot(event, kind,
                          to_floats(dtype, {data, static_cast<std::size_t>(n * bytes_per_element(dtype))}));
}

/// Compares the call with the other members', or with the one that is concerned.
void compare(StreamExecutor& executor, std::span<const GlobalRank> ranks, int32_t me, Channel data,
             const CheckedCall& call, std::optional<CallComparison>& comparison) {
    if (ranks.size() == 1) return;
    if (call.op == CollectiveOp::send)
        executor.post_copy(ranks[static_cast<std::size_t>(call.peer)], data.of_fingerprints(),
                           fingerprint_of(call, me));
    else if (call.op == CollectiveOp::recv)
        compare_with_send(executor.transport(), ranks, me, data, call);
    else
        comparison.emplace(executor.transport(), ranks, me, data, call);
}

}  // namespace

TransportGroup::TransportGroup(StreamExecutor& executor, int32_t index, std::string name,
                               std::vector<GlobalRank> ranks, Channel channel, trace::Recorder* recorder,
                               GroupOptions options)
    : RecordedGroup(executor, index, std::move(name), ranks, recorder, options),
      members_(
          std::make_shared<const Members>(Members{std::move(ranks), rank().value, Channel{2 * channel.value},
                                                  Channel{2 * channel.value + 1}, std::move(options)})) {}

TransportGroup::TransportGroup(Transport&, int32_t index, std::string name, std::vector<GlobalRank> ranks,
                               Channel channel, trace::Recorder* recorder, StreamExecutor& executor,
                               GroupOptions options)
    : TransportGroup(executor, index, std::move(name), std::move(ranks), channel, recorder,
                     std::move(options)) {}

TransportGroup::~TransportGroup() = default;

std::function<void()> TransportGroup::runner(CheckedCall call, Algorithm algorithm, int32_t event) {
    return [executor = &executor_, members = members_, recorder = event >= 0 ? recorder_ : nullptr, event,
            algorithm, checked = std::move(call)] {
        executor->transport().begin_call(checked.info);
        if (recorder != nullptr) {
            recorder->begin_collective(event, algorithm);
            snapshot(*recorder, event, trace::SnapshotKind::input, checked.dtype, checked.input,
                     checked.in_elements);
        }
        std::optional<CallComparison> comparison;
        const bool pair = checked.op == CollectiveOp::send || checked.op == CollectiveOp::recv;
        const Channel channel = pair ? members->pairs : members->collectives;
        if (members->options.checked)
            compare(*executor, members->ranks, members->me, channel, checked, comparison);
        int64_t sent_bytes = 0;
        if (checked.op == CollectiveOp::send) {
            sent_bytes = checked.in_elements * bytes_per_element(checked.dtype);
            executor->post_copy(members->ranks[static_cast<std::size_t>(checked.peer)], channel,
                                {checked.input, static_cast<std::size_t>(sent_bytes)});
        } else {
            Wire wire(executor->transport(), members->ranks, members->me, channel, checked.dtype, recorder,
                      event);
            run_collective(wire, checked, algorithm, members->options.node_of);
            sent_bytes = wire.sent_bytes();
        }
        if (comparison) comparison->finish();
        executor->transport().end_call();
        if (recorder == nullptr) return;
        snapshot(*recorder, event, trace::SnapshotKind::output, checked.dtype, checked.output,
                 checked.out_elements);
        recorder->end_collective(event, sent_bytes);
    };
}

}  // namespace meshscope::comm
