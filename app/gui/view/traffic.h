#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "app/gui/view/memo.h"
#include "app/gui/view/state.h"
#include "core/base/kinds.h"
#include "core/time/clock.h"
#include "core/trace/trace.h"

namespace meshscope::view {

inline constexpr std::size_t kOps = static_cast<std::size_t>(CollectiveOp::barrier) + 1;

/// What one rank sent another.
struct TrafficLink {
    int32_t src = 0, dst = 0;
    int64_t bytes = 0;
    friend bool operator==(const TrafficLink&, const TrafficLink&) = default;
};

/// Bytes by link: the sums of recorded hops, nothing else.
struct Traffic {
    std::vector<TrafficLink> links;              ///< that carried something, by src, then dst
    int64_t total = 0, inside = 0, between = 0;  ///< inside nodes, between nodes; their sum is total
    int32_t links_inside = 0, links_between = 0;
    std::array<int64_t, kOps> by_op{};  ///< of the span, whatever the filter's op is
    int64_t beside_bytes =
        0;  ///< of by_op: in evaluations and the saving of checkpoints, not in training steps
    int32_t step = -1;                  ///< the cursor's, where the span is a step
    /// Collectives of the span that sent bytes and recorded no hop (a library's own): what links lack.
    int64_t untold_bytes = 0;
};

/// The traffic of a span. A hop counts from the moment it leaves. Cost: one pass over the hops.
Traffic traffic(const trace::Trace& trace, const time::Clock& clock, int64_t cursor_ns,
                const TrafficFilter& filter);

/// True when the record says where bytes went (Level::hops or more).
bool tells_hops(const trace::Trace& trace);

/// The id of the sentence for a trace that tells none: nothing was sent, or nobody wrote it down.
const char* why_no_hops(const trace::Trace& trace);

/// The matrix as cells: each a block of `fold` × `fold` ranks.
struct TrafficGrid {
    TrafficCell window;  ///< senders (rows) and receivers (columns) shown
    int32_t fold = 1;  ///< ranks a cell side
    int32_t rows = 0, columns = 0;
    std::vector<int64_t> bytes;  ///< rows × columns
    int64_t most = 0;            ///< of a cell
    int64_t at(int32_t row, int32_t column) const {
        return bytes[static_cast<std::size_t>(row) * static_cast<std::size_t>(columns) +
                     static_cast<std::size_t>(column)];
    }
    RankRange senders(int32_t row) const { return part(window.from, row); }
    RankRange receivers(int32_t column) const { return part(window.to, column); }

  private:
    RankRange part(const RankRange& of, int32_t i) const {
        const int32_t first = i * fold;
        return {of.first + first, fold < of.count - first ? fold : of.count - first};
    }
};

/// Folds links into at most `most_cells` a side: by the ranks of a node or by the inner dims of the mesh
/// where one of them fits, else by a power of two. Cost: O(links + cells).
TrafficGrid traffic_grid(const trace::Trace& trace, const Traffic& traffic, const TrafficFilter& filter,
                         int32_t most_cells);

/// Which collectives made a cell: the events of the receivers, by what they are.
struct TrafficCause {
    CollectiveOp op = CollectiveOp::barrier;
    Phase phase = Phase::setup;
    trace::StringId unit = 0;
    std::string mesh_dim;
    int64_t bytes = 0, hops = 0;
    int32_t calls = 0;            ///< collectives, counted at each receiver
    int32_t rank = 0, event = 0;  ///< the first, at a receiver
};

/// Largest first; equal ones in the order they ran. Their bytes add up to the cell. Cost: one pass over the
/// receivers' hops.
std::vector<TrafficCause> traffic_causes(const trace::Trace& trace, const time::Clock& clock,
                                         int64_t cursor_ns, const TrafficFilter& filter,
                                         const TrafficCell& cell, Memo* memo = nullptr);

/// The nearest link with bytes from `from` on, up or down (`rows` -1 or 1) or left or right (`columns`);
/// `from` where there is none, the first link where it is nothing. For the keyboard; a block counts as its
/// first rank. Cost: O(hops).
std::optional<TrafficCell> next_cell(const trace::Trace& trace, const time::Clock& clock, Cursor cursor,
                                     const TrafficFilter& filter, const std::optional<TrafficCell>& from,
                                     int32_t rows, int32_t columns);

/// "rank 3", "rank 0–7"; "3", "0–7".
std::string name_of(RankRange range);
std::string number_of(RankRange range);

/// A range of ranks as one number, for a shape's id, and back. One rank is its own number.
constexpr int64_t pack(RankRange range) {
    return static_cast<int64_t>(range.first) | static_cast<int64_t>(range.count - 1) << 32;
}
constexpr RankRange unpack(int64_t packed) {
    return {static_cast<int32_t>(packed & 0x7FFFFFFF), static_cast<int32_t>(packed >> 32) + 1};
}

}  // namespace meshscope::view
