#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/time/clock.h"
#include "core/trace/trace.h"

namespace meshscope::view {

/// How many members a piece can name one by one, a bit each.
inline constexpr std::size_t kMaskBits = 64;
/// A group rank's; none for those beyond.
inline constexpr uint64_t member_bit(std::size_t member) {
    return member < kMaskBits ? uint64_t{1} << member : 0;
}

/// True when pieces keep their owner's data (gathers, broadcast, all_to_all): fills tell the origin. Else
/// they add up (reductions): fills tell how many ranks are in.
inline constexpr bool moves_origins(CollectiveOp op) {
    return op != CollectiveOp::all_reduce && op != CollectiveOp::reduce && op != CollectiveOp::reduce_scatter;
}

/// One part of a rank's buffer during a collective.
struct ChunkState {
    int32_t chunk = 0;
    int64_t offset = 0;  ///< first element, in the buffer that is shown
    int64_t elements = 0;
    int64_t padding = 0;     ///< of them at its end that are padding
    uint64_t from = 0;       ///< bit g: group rank g's data is in it (groups of up to 64)
    int32_t from_count = 0;  ///< how many ranks' data is in it; 0: nothing has come yet
};

/// A rank's buffer at one moment: the whole input of reduce_scatter and all_reduce, the whole output of the
/// others.
struct BufferState {
    int32_t rank = 0;   ///< global
    int32_t event = 0;  ///< the rank's event
    int64_t elements = 0;
    std::vector<ChunkState> pieces;
    std::vector<float> values;  ///< `elements` numbers, when the trace kept them; else empty
    std::vector<char> known;    ///< which of them are there yet
    int64_t sent_bytes = 0;     ///< by this rank, as far as it has come: of a hop on its way whole elements
};

/// One hop as it stands at the moment.
struct HopState {
    int32_t receiver = 0;  ///< position in ranks
    int32_t sender = 0;    ///< position in ranks
    int32_t index = 0;     ///< in the receiver's RankTrace::hops
    trace::Hop hop;
    /// What it carries, one at least, in the order of the message; offsets count in the receiver's shown
    /// buffer.
    std::vector<trace::HopPiece> pieces;
    uint64_t from = 0;  ///< whose data travels
    int32_t from_count = 0;
    time::Interval when;
    float progress = 0;  ///< 0 before it leaves, 1 once it has landed; linear in time
    bool flying = false;
    bool landed = false;
};

/// A collective of one group at one moment, rebuilt from what the trace recorded: the input snapshots, then
/// every hop that has landed, in order of rounds. Nothing is made up: where the trace kept no numbers,
/// `values` is empty.
struct CollectiveState {
    int32_t group = 0;
    CollectiveOp op = CollectiveOp::barrier;
    ReduceOp reduce_op = ReduceOp::none;
    Algorithm algorithm = Algorithm::none;
    DType dtype = DType::float32;
    std::vector<int32_t> ranks;  ///< members in group order
    std::vector<int32_t> nodes;  ///< which node each member is said to stand on
    std::vector<BufferState> buffers;
    std::vector<HopState> hops;  ///< by round, then receiver
    int32_t rounds = 0;
    int32_t round = 0;  ///< the first that has not landed everywhere; rounds when all have
    bool begun = false, finished = false;
};

/// The state at time `t_ns` of the clock. Once a member's event has ended its result is what the trace
/// recorded as output (an average is divided at the end). Cost: O(hops · log hops + values).
CollectiveState collective_state(const trace::Trace& trace, const time::Clock& clock,
                                 const trace::CollectiveInstance& instance, int64_t t_ns);

/// The state after the first `rounds` rounds have landed, on no clock; results are what the hops alone give.
CollectiveState collective_after(const trace::Trace& trace, const trace::CollectiveInstance& instance,
                                 int32_t rounds);

/// The collective that an event belongs to, and those of other groups of the same mesh dim that make the same
/// call at the same place (op, step, unit, phase, micro-batch, sequence), by their first rank. The event's
/// own is one of them. Empty for a compute event. Cost: one pass over the events of the ranks of that dim's
/// groups.
std::vector<trace::CollectiveInstance> parallel_instances(const trace::Trace& trace, int32_t rank,
                                                          int32_t event);

/// Whether a hop carries this piece of its receiver's buffer, which in a reduction is the same piece of its
/// sender's: one that it names, or that lies in the range of one (halving-doubling's hops carry several
/// chunks that lie side by side). What only passes through the receiver is no piece of its buffer.
bool covers(const HopState& hop, const ChunkState& piece);

/// True for the piece in which a rank's own result stands when the collective is over.
bool is_result(const CollectiveState& state, std::size_t member, const ChunkState& piece);

}  // namespace meshscope::view
