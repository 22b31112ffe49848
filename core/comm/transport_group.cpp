#include "core/comm/transport_group.h"

#include <utility>

#include "core/comm/reduce.h"
#include "core/comm/run_collective.h"
#include "core/comm/shared_collectives.h"
#include "core/comm/wire.h"

namespace meshscope::comm {

struct TransportGroup::Members {
    std::vector<GlobalRank> ranks;
    int32_t me = 0;
    Channel collectives;
    Channel pairs;
    // The running thread's: the table is asked for when the first collective runs.
    mutable bool asked_for_table = false;
    mutable SharedTable* table = nullptr;

    SharedTable* table_of(Transport& transport) const {
        if (!asked_for_table) table = transport.table(collectives, ranks);
        asked_for_table = true;
        return table;
    }
};

namespace {

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
    : RecordedGroup(executor, index, std::move(name), ranks, recorder, algorithm),
      members_(std::make_shared<const Members>(Members{
          std::move(ranks), rank().value, Channel{2 * channel.value}, Channel{2 * channel.value + 1}})) {}

TransportGroup::TransportGroup(Transport&, int32_t index, std::string name, std::vector<GlobalRank> ranks,
                               Channel channel, trace::Recorder* recorder, StreamExecutor& executor,
                               Algorithm algorithm)
    : TransportGroup(executor, index, std::move(name), std::move(ranks), channel, recorder, algorithm) {}

TransportGroup::~TransportGroup() = default;

std::function<void()> TransportGroup::runner(CheckedCall call, Algorithm algorithm, int32_t event) {
    return [executor = &executor_, members = members_, recorder = event >= 0 ? recorder_ : nullptr, event,
            algorithm, checked = std::move(call)] {
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
            SharedTable* const table = algorithm == Algorithm::direct && can_run_on_table(checked.op)
                                           ? members->table_of(executor->transport())
                                           : nullptr;
            if (table != nullptr)
                run_on_table(wire, *table, checked);
            else
                run_collective(wire, checked, algorithm);
            sent_bytes = wire.sent_bytes();
        }
        if (recorder == nullptr) return;
        snapshot(*recorder, event, trace::SnapshotKind::output, checked.dtype, checked.output,
                 checked.out_elements);
        recorder->end_collective(event, sent_bytes);
    };
}

}  // namespace meshscope::comm
