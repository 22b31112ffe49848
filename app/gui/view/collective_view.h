#pragma once

#include <optional>

#include "app/gui/view/input.h"
#include "app/gui/view/run_end.h"

namespace meshscope::view {

struct CollectiveOptions {
    bool overview = true;         ///< the row of all hops at the foot, where there is room
    bool reduced_motion = false;  ///< no travel: origin, arrow and destination at once
    const RunEnd* end = nullptr;  ///< how the run ended early: what stopped members is told; null: it did not
    bool forms = false;           ///< the switch to algorithms side by side stands in the title: ids "form"
    bool covered = false;         ///< the bytes are what a lesson's open question asks: they are left out
};

/// The collective the picture is about: the selected event when it is a collective; of a selected computation
/// the last call of its unit in its step that had ended before it, where there is one; else the one under the
/// cursor on the selected rank (or the asking rank): what just ended, the latest begun, the next to come, the
/// last. Nothing when the trace has no collective. Cost: O(events of the rank).
struct ShownCollective {
    int32_t rank = 0;
    int32_t event = 0;
};
std::optional<ShownCollective> shown_collective(const Input& input);
std::optional<ShownCollective> shown_collective(const trace::Trace& trace, const time::Clock& clock,
                                                Cursor cursor, const Selection& selection);

/// Why a rank has no collective to show, as a message's id.
inline const char* no_collective(const trace::Trace& trace) {
    return trace.info.level == trace::Level::off ? "view.collective.off" : "view.collective.none";
}

/// The collective under the cursor: its ranks in their arrangement, buffers cut in chunks, chunks in flight
/// at the cursor, partial sums, padding, bytes sent so far beside the formula. Other groups that make the
/// same call at the same place (the other shard groups of an HSDP mesh) stand beside it, in mesh order. Ids:
/// "rank" a = rank; "chunk" a = rank, b = chunk; "flight" a = receiving rank, b = index of its hop; "group" a
/// = group; "node" a = node; "hop" a = round (overview column); "bytes".
Picture collective_view(const Input& input, const CollectiveOptions& options = {});

}  // namespace meshscope::view
