#pragma once

#include <vector>

#include "app/gui/view/compare_alike.h"
#include "app/gui/view/compare_figures.h"
#include "app/gui/view/paint.h"

namespace meshscope::view {

/// What stands above the lanes of the comparison: how many runs there are, the switch of clock kinds (both,
/// or the shown one's name alone), and how each run differs from the first. Gives its lower edge. Cost: the
/// texts.
float compare_title(Painter& painter, const Input& input, const std::vector<ComparedRun>& runs,
                    const std::vector<Unlike>& unlike, bool both_clocks);

}  // namespace meshscope::view
