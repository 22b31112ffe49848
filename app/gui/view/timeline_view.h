#pragma once

#include <cstdint>

#include "app/gui/view/input.h"
#include "app/gui/view/run_end.h"

namespace meshscope::view {

struct TimelineOptions {
    int64_t begin_ns = 0;  ///< the shown range; end_ns <= begin_ns: the whole clock
    int64_t end_ns = 0;
    float scroll_y =
        0;  ///< how far the lanes are scrolled up; header and ruler stay (Picture::content_height)
    const RunEnd* end = nullptr;  ///< how the run ended early: its place is marked; null: it did not
    /// The same of a run whose end is not told yet: calls that never ended are left open, no more; null:
    /// none.
    const RunEnd* untold = nullptr;
    bool both_clocks = true;      ///< the other clock exists: show the switch of clock kinds
    bool has_grid = false;        ///< the run has a pipeline: show the switch to the grid of micro-batches
};

/// Where time stands in the picture; the panel scrubs, zooms and pans with it.
struct TimeAxis {
    float x0 = 0, x1 = 0;  ///< the lanes' left and right edge
    float ruler_y = 0, lanes_y = 0;
    int64_t begin_ns = 0, end_ns = 1;
    float x(int64_t t_ns) const;   ///< time to pixel, not clipped
    int64_t time(float px) const;  ///< pixel to time, clamped to the range
};
TimeAxis timeline_axis(const Input& input, const TimelineOptions& options = {});

/// Where the lanes must be scrolled to so that `rank` is seen whole, from `options.scroll_y`: unchanged when
/// it is. Lanes scroll by whole ranks.
float timeline_scroll_to(const Input& input, const TimelineOptions& options, int32_t rank);

/// Lanes of ranks × streams with the clock's bars, exposed communication in amber, cursor, ruler. The picture
/// may be higher than the size: the panel scrolls. Ids: "event" a = rank, b = event id; "merged" a = rank, b
/// = first event id; "lane" a = rank, b = Lane; "rank" a = rank; "step" a = step; "exposed" a = rank;
/// "clock" a = time::ClockKind (the switch's two halves); "broke_off" a = rank (-1: the line over all of
/// them): where the run ended early; "open" and "torn" a = rank, b = event id: the right end of a call that
/// never ended, and of one in which its rank died; "gone" a = rank: behind its death; "cursor". Cost:
/// O(events in range).
Picture timeline_view(const Input& input, const TimelineOptions& options = {});

}  // namespace meshscope::view
