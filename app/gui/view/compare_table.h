#pragma once

#include <vector>

#include "app/gui/view/compare_figures.h"
#include "app/gui/view/paint.h"

namespace meshscope::view {

/// Of every card of the comparison: around it, inside it, its corners.
inline constexpr float kComparePad = 16, kCompareCard = 16, kCompareRadius = 12;

/// The card of what differs from the first run, with sign, percent and a bar: its upper edge at `top` of a
/// picture of `width`. Gives its lower edge. `step` is what the lanes show. Cost: the table's cells.
float compare_table(Painter& painter, float width, const std::vector<ComparedRun>& runs,
                    const std::vector<RunFigures>& figures, int32_t step, float top);

}  // namespace meshscope::view
