#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "app/gui/view/paint.h"
#include "app/gui/view/timeline_bars.h"
#include "app/gui/view/timeline_view.h"
#include "core/time/exposed.h"

namespace meshscope::view {

/// Left and right margin, and the height of title, switch and exposed time.
inline constexpr float kTimelinePad = 24, kTimelineHeader = 44;
/// What the axis leaves at its right where a run broke off.
inline constexpr float kTimelineEnd = 44;

/// Between the names of lanes that share a row, and between their marks.
inline constexpr float kLaneNamesApart = 8;

/// Where the timeline's lanes lie. Heights give a little where that lets every rank be seen at once. Of a run
/// that ended early ranks are looked at side by side: where that is not enough lanes share rows, as far as on
/// no rank anything of one lies over the other's.
struct TimelineLayout {
    TimeAxis axis;
    std::vector<Lane> lanes;
    std::vector<std::size_t> rows;   ///< by lane, from 0: which row of its rank; the first has a row alone
    std::vector<std::string> words;  ///< by lane, its name; short where its row is shared
    std::vector<int32_t> ranks;      ///< from top to bottom; of a dry run those that stand for all
    float gutter_names = 0;          // right end of the lane names
    bool names = true;               // room for the lanes' names
    float block = 0;                 // height of one rank
    float compute = 24, lane = 18, gap = 3, pad = 9;

    float lane_y(std::size_t at) const {
        return rows[at] == 0 ? 0 : compute + gap + static_cast<float>(rows[at] - 1) * (lane + gap);
    }
    float lane_height(std::size_t at) const { return rows[at] == 0 ? compute : lane; }
    /// Which of them a rank is, or the one that would stand before it.
    int32_t row_of(int32_t rank) const {
        return static_cast<int32_t>(std::ranges::lower_bound(ranks, rank) - ranks.begin());
    }
    /// How many ranks have all their lanes in a picture this high; at least one.
    int32_t shown(float height) const {
        return std::max(
            1, static_cast<int32_t>(std::floor((height - axis.lanes_y + pad) / std::max(1.F, block))));
    }
    float block_height() const {
        const auto below = static_cast<float>(*std::max_element(rows.begin(), rows.end()));  // the first row
        return compute + below * (lane + gap) + 2 * pad;
    }
};
/// Cost: a pass over all events where lanes share rows; in a large record once.
TimelineLayout timeline_layout(const Input& input, const TimelineOptions& options);
/// From where to where a lane's name stands, or its mark where it is not `named`: those of a row in the
/// lanes' order. The left margin belongs to the first of them.
std::pair<float, float> name_place(const Painter& p, const TimelineLayout& at, std::size_t lane, bool named);

/// From where to where on the axis a rank waits for communication, ascending: parts less than a pixel apart
/// are one.
std::vector<std::pair<float, float>> exposed_parts(const time::Overlap& overlap, const TimeAxis& axis);

/// The ticks of a ruler, every `step` from `first` to `last`.
struct RulerTicks {
    double first = 0, last = 0, step = 1;
    float y = 0;          ///< the numbers' upper edge
    bool numbers = true;  ///< false: lines alone
    /// A tick's number; empty: a time in the unit that the steps (ns) are whole in, "0 µs", then "5", "10".
    std::function<std::string(double t)> words;
};
/// Those of an axis, at least `least_px` apart: 1, 2 or 5 times a power of ten of ns. Cost: O(1).
RulerTicks time_ticks(const TimeAxis& axis, float least_px, float y);
/// Draws a ruler's numbers where there is room for them; `line` draws what stands at a tick, and gives its x.
/// Cost: the ticks.
void draw_ticks(Painter& painter, const RulerTicks& ticks, const std::function<float(double t)>& line);

}  // namespace meshscope::view
