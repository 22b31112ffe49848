#include "core/comm/transport_group.h"

#include <span>
#include <utility>

#include "core/comm/compare_calls.h"
#include "core/comm/reduce.h"
#include "core/comm/run_collective.h"
#include "core/comm/shared_collectives.h"
#include "core/comm/wire.h"

namespace meshscope::comm {

struct TransportGroup::Members : CallingGroup {
    Members(GroupInfo info, GroupOptions given, Channel channel)
        : CallingGroup(std::move(info), std::move(given)),
          collectives{2 * channel.value},
          pairs{2 * channel.value + 1} {}

    Channel collectives;
    Channel pairs;
    // The running thread's: the table is asked for when the first collective runs.
    mutable bool asked_for_table = false;
    mutable SharedTable* table = nullptr;

    SharedTable* table_of(Transport& transport) const {
        if (!asked_for_table)
            if (SharedTables* const tables = transport.abilities().tables)
                table = tables->table(collectives, ranks);
        asked_for_table = true;
        return table;
    }

    void run(const Work::State& state) const override;
    /// The same but for what is said of its begin and end. Gives the bytes it sent.
    int64_t move(const Work::State& state) const;
};

namespace {

/// Keeps a small buffer's numbers in the record.
void snapshot(trace::Recorder& recorder, int32_t event, trace::SnapshotKind kind, DType dtype,
              const std::byte* data, int64_t n, DeviceQueues* queues) {
    if (data == nullptr || n > trace::kMaxRecordedValues || !recorder.records(trace::Level::values)) return;
    on_host(queues, data, n * bytes_per_element(dtype), [&](std::span<const std::byte> there) {
        recorder.add_snapshot(event, kind, to_floats(dtype, there));
    });
}

/// Whether the rank has something to give: what lies in a broadcast's buffer off its root is nobody's number.
bool gives(const IssuedCall& call, int32_t me) {
    return call.op != CollectiveOp::broadcast || call.peer == me;
}

/// Compares the call with the other members', or with the one that is concerned. What is given, if anything,
/// is to be finished when the call has run.
std::unique_ptr<CallComparison> compare(StreamExecutor& executor, std::span<const GlobalRank> ranks,
                                        int32_t me, Channel data, const IssuedCall& call) {
    if (ranks.size() == 1) return nullptr;
    if (call.op == CollectiveOp::send)
        executor.post_copy(call, ranks[static_cast<std::size_t>(call.peer)], data.of_fingerprints(),
                           fingerprint_of(call, me));
    else if (call.op == CollectiveOp::recv)
        compare_with_send(executor.transport(), ranks, me, data, call);
    else
        return std::make_unique<CallComparison>(executor.transport(), ranks, me, data, call);
    return nullptr;
}

}  // namespace

TransportGroup::TransportGroup(StreamExecutor& executor, int32_t index, std::string name,
                               std::vector<GlobalRank> ranks, Channel channel, trace::Recorder* recorder,
                               GroupOptions options)
    : RecordedGroup(executor,
                    std::make_shared<Members>(GroupInfo{index, std::move(name), std::move(ranks)},
                                              std::move(options), channel),
                    recorder) {}

TransportGroup::~TransportGroup() = default;

void TransportGroup::Members::run(const Work::State& state) const {
    Transport& transport = state.executor->transport();
    transport.begin_call(state.call);
    if (state.recorder != nullptr) state.recorder->begin_collective(state.event, state.call.algorithm);
    const int64_t sent_bytes = move(state);
    transport.end_call();
    if (state.recorder != nullptr) state.recorder->end_collective(state.event, sent_bytes);
}

int64_t TransportGroup::Members::move(const Work::State& state) const {
    trace::Recorder* const recorder = state.recorder;
    const IssuedCall& call = state.call;
    StreamExecutor& executor = *state.executor;
    const bool pair = call.op == CollectiveOp::send || call.op == CollectiveOp::recv;
    const Channel channel = pair ? pairs : collectives;
    SharedTable* const meets_at = state.call.algorithm == Algorithm::direct && can_run_on_table(call.op)
                                      ? table_of(executor.transport())
                                      : nullptr;
    const bool keeps = recorder != nullptr && recorder->records(trace::Level::values);
    if (keeps && gives(call, me))
        snapshot(*recorder, state.event, trace::SnapshotKind::input, call.dtype, call.input, call.in_elements,
                 executor.queues());
    std::unique_ptr<CallComparison> comparison;
    if (options.checked) comparison = compare(executor, ranks, me, channel, call);
    int64_t sent_bytes = 0;
    if (call.op == CollectiveOp::send && !call.waits) {
        sent_bytes = call.in_elements * bytes_per_element(call.dtype);
        executor.post_copy(call, ranks[static_cast<std::size_t>(call.peer)], channel,
                           {call.input, static_cast<std::size_t>(sent_bytes)});
    } else {
        Wire wire(executor.transport(), ranks, me, channel, call.dtype, recorder, state.event,
                  executor.queues());
        if (meets_at != nullptr)
            run_on_table(wire, *meets_at, call);
        else
            run_collective(wire, call, state.call.algorithm, options.node_of, options.own.get());
        sent_bytes = wire.sent_bytes();
    }
    if (comparison) comparison->finish();
    if (keeps)
        snapshot(*recorder, state.event, trace::SnapshotKind::output, call.dtype, call.output,
                 call.out_elements, executor.queues());
    return sent_bytes;
}

}  // namespace meshscope::comm
