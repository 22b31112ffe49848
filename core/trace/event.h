#pragma once

#include <cstdint>

#include "core/base/kinds.h"

namespace meshscope::trace {

/// How much a run writes down. Each level holds all of the one before it.
enum class Level : uint8_t {
    off,          ///< nothing
    collectives,  ///< compute spans, collectives, memory
    hops,         ///< and every hop of every collective
    values        ///< and the numbers that moved, where a buffer is small
};

enum class EventKind : uint8_t { compute, collective };

/// Index into a string table: the recorder's while a run lasts, the Trace's after the merge. 0 is "".
using StringId = uint32_t;

/// One thing a rank did on one stream. Fixed size, so a recorder is one array that was touched beforehand.
///
/// Everything but the three times is deterministic: the same scenario writes the same fields again.
struct Event {
    int32_t id = 0;    ///< position in this rank's order of issue, from 0; never a gap
    int32_t step = 0;  ///< -1 = set-up
    EventKind kind = EventKind::compute;
    Stream stream = Stream::compute;
    Phase phase = Phase::setup;
    CollectiveOp op = CollectiveOp::barrier;  // collectives only, to `algorithm`
    ReduceOp reduce_op = ReduceOp::none;
    DType dtype = DType::float32;
    Algorithm algorithm = Algorithm::none;
    uint8_t prefetch = 0;  ///< 1 when issued ahead of need (FSDP's backward prefetch)
    int32_t microbatch = 0;
    StringId name = 0;    ///< compute: the kernel ("linear", "adamw"); collective: ""
    StringId unit = 0;    ///< whose work: a module ("net1"), a unit ("net1+net2"), a bucket ("bucket 0")
    StringId rule = 0;    ///< why it is there: "fsdp2.unshard.forward" ([rule."…"] in app/i18n)
    StringId source = 0;  ///< our own line: "core/parallel/fsdp2/unit.cpp:120"
    int32_t group = -1;   ///< index into the group table; -1 for compute
    int32_t sequence = -1;  ///< its place among the collectives of its group, from 0 (the same on all
                            ///< members); -1 for compute
    int32_t peer =
        -1;  ///< root (broadcast, reduce, gather, scatter) or the other side (send, recv): global rank
    int64_t padding = 0;        ///< elements of `in` that are padding (they travel all the same)
    int64_t in_elements = 0;    ///< what this rank put in
    int64_t out_elements = 0;   ///< what this rank got out
    int64_t sent_bytes = 0;     ///< bytes this rank sent over links, summed over the hops
    int64_t flops = 0;          ///< compute only: floating point operations
    int64_t touched_bytes = 0;  ///< compute only: bytes read and written
    int64_t t_issue_ns = 0;     ///< put on the stream; measured clock, 0 = start of the run
    int64_t t_begin_ns = 0;     ///< began on the stream
    int64_t t_end_ns = 0;
};
static_assert(sizeof(Event) <= 128, "one event must stay within two cache lines");

/// "Event `event` of this rank could not begin before event `on` of this rank had ended", beyond the order of
/// its stream.
struct Dependency {
    int32_t event = 0;
    int32_t on = 0;
};

/// One piece of what a hop carried, where it carried several.
struct HopPiece {
    int32_t chunk = 0;   ///< as Hop::chunk
    int64_t offset = 0;  ///< as Hop::offset; -1: it passes through dst and is no part of its result
    int64_t elements = 0;
};

/// One message of a collective between two ranks. Recorded by the receiver. src and dst are global ranks;
/// for direct copies inside a rank (its own part of a gather) no hop is written, because nothing travels.
struct Hop {
    int32_t event = 0;  ///< the receiver's event
    int32_t round = 0;  ///< 0, 1, …: hops of one round are in flight at the same time
    int32_t src = 0;
    int32_t dst = 0;
    int32_t chunk = 0;    ///< which part of the buffer, counted as the algorithm cuts it
    uint8_t reduces = 0;  ///< 1: added into what dst holds; 0: replaces it
    /// How many pieces it carried, `pieces` of them in the order of the message; the first has this chunk
    /// and offset. 0: one, which is named here.
    int32_t n_pieces = 0;
    int64_t offset = 0;  ///< first element in dst's result buffer
    int64_t elements = 0;
    int64_t bytes = 0;
    int64_t t_begin_ns = 0;
    int64_t t_end_ns = 0;
    int64_t values =
        -1;  ///< first of `elements` numbers in the rank's value table: what travelled; -1 = not kept
    int64_t pieces = -1;  ///< first of `n_pieces` in the rank's piece table; -1 where that is 0
};

/// What a buffer held: a collective's, or an operand of a kernel, `rows` × `columns` (all dims but the last
/// are rows; a vector: one column). Recorded at Level::values: a collective's when it has at most
/// kMaxRecordedValues elements; an operand's shape always, its numbers up to as many.
enum class SnapshotKind : uint8_t { input, output };
struct Snapshot {
    int32_t event = 0;
    SnapshotKind kind = SnapshotKind::input;
    int64_t values = 0;  ///< first number in the rank's value table; -1 (operands only): not kept
    int64_t elements = 0;
    StringId operand = 0;  ///< as kernels.def calls it ("x", "weight", "y"); 0: a collective's buffer
    int64_t rows = 0, columns = 0;  ///< of an operand
};
inline constexpr int64_t kMaxRecordedValues = 1024;
/// Numbers of operands that a rank's record holds in all, 16 MiB; of what comes later the shape alone is
/// kept. Of many ranks together they are at most kMostOperandNumbersInAll, 64 MiB.
inline constexpr int64_t kMostOperandNumbers = int64_t{1} << 22;
inline constexpr int64_t kMostOperandNumbersInAll = int64_t{1} << 24;
constexpr int64_t most_operand_numbers(int32_t world_size) {
    const int64_t share = kMostOperandNumbersInAll / (world_size < 1 ? 1 : world_size);
    return share < kMostOperandNumbers ? share : kMostOperandNumbers;
}

/// A rank's memory grew or shrank. `after_event` is the latest event the rank had issued then (-1: none).
struct MemoryChange {
    int32_t after_event = -1;
    int32_t step = -1;
    Phase phase = Phase::setup;
    MemoryCategory category = MemoryCategory::temporaries;
    StringId label = 0;
    uint64_t allocation = 0;
    int64_t delta_bytes = 0;  ///< > 0 allocated, < 0 freed
    int64_t t_ns = 0;
};

/// A run of one parameter's numbers that a rank keeps between steps: who owns what. Recorded once, when first
/// values are put in place; numbers that a rank only borrows (a gathered copy) are no run.
///
/// The whole array has rows × columns numbers, of which the box [first_row, first_row + n_rows) ×
/// [first_column, first_column + n_columns) is what tensor parallelism left to this rank (all of it without).
/// The run is elements [first, first + elements) of the box, row-major. They stand at `first_in_shard` in
/// what the rank keeps of the unit, which is also what it puts into the unit's all_gather.
struct ParameterRun {
    StringId parameter = 0;  ///< "net1.weight"; 0: padding that stands between parameters
    StringId unit = 0;    ///< what is gathered or reduced together, as Event::unit names it; 0: none is known
    uint8_t padding = 0;  ///< 1: no numbers of the model; they travel all the same. `first` is past the box
    uint8_t updated = 1;  ///< 0: kept, but another rank's optimizer updates them (ZeRO)
    int64_t rows = 0;
    int64_t columns = 0;  ///< numbers a row: the product of the dims after the first; 1 for a vector
    int64_t first_row = 0, n_rows = 0;
    int64_t first_column = 0, n_columns = 0;
    int64_t first = 0;
    int64_t elements = 0;
    int64_t first_in_shard = 0;
};

}  // namespace meshscope::trace
