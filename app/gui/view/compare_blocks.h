#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "app/gui/view/compare_figures.h"
#include "app/gui/view/paint.h"
#include "app/gui/view/timeline_view.h"

namespace meshscope::view {

/// What the lanes' card of the comparison shows, one block a run. References must live while it is used.
struct CompareScene {
    const Input& input;  ///< the front run's
    const std::vector<ComparedRun>& runs;
    std::vector<RunFigures> figures{};  ///< by run
    std::vector<Unlike> unlike{};       ///< by run, against the first
    /// Of all runs: 0 is where each one's step begins to count, and the step ends at its step_ns.
    TimeAxis axis{};
    int64_t cursor_ns = -1;  ///< on the axis

    bool sees(int64_t t) const { return t >= axis.begin_ns && t <= axis.end_ns; }
};

/// What the run's rank did in the shown step, evaluation not counted. Cost: the rank's events.
std::vector<const trace::Event*> events_of(const ComparedRun& run, const RunFigures& figures);

/// How wide what stands left of a run's lanes would be. Cost: its texts.
float block_head_width(Painter& painter, const CompareScene& scene, std::size_t run);
/// How high a run's block is, with scene.axis.x0 known. Cost: its texts and events_of().
float block_height(Painter& painter, const CompareScene& scene, std::size_t run);
/// Draws a run's block from `top` down: name, whose lanes and the step's time at the left; its lanes; how the
/// step's end lies to the first run's; where it broke off. Cost: events_of() and their bars.
void draw_block(Painter& painter, const CompareScene& scene, std::size_t run, float top);

}  // namespace meshscope::view
