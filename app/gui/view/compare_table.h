#pragma once

#include <string>
#include <vector>

#include "app/gui/view/compare_figures.h"
#include "app/gui/view/paint.h"

namespace meshscope::view {

/// What stands above the lanes of the comparison: how many runs there are, the switch of clock kinds (both,
/// or the shown one's name alone), and how each run differs from the first. Gives its lower edge. Cost: the
/// texts.
float compare_title(Painter& painter, const Input& input, const std::vector<ComparedRun>& runs,
                    const std::vector<Unlike>& unlike, bool both_clocks);

/// Of every card of the comparison: around it, inside it, its corners.
inline constexpr float kComparePad = 16, kCompareCard = 16, kCompareRadius = 12;

/// True when all runs show the same whole step.
bool same_steps(const std::vector<RunFigures>& figures);
/// "step 1", "step 1, up to where it ended".
std::string step_words(const Painter& painter, const RunFigures& figures);
/// "12 ms exposed, 30 %"; brief: without the share.
std::string exposed_words(const Painter& painter, const RunFigures& figures, bool brief);

/// The card of what differs from the first run, with sign, percent and a bar: its upper edge at `top` of a
/// picture of `width`. Gives its lower edge. `unlike`: what may be said of each. Cost: the table's cells.
float compare_table(Painter& painter, float width, const std::vector<ComparedRun>& runs,
                    const std::vector<RunFigures>& figures, const std::vector<Unlike>& unlike, float top);

}  // namespace meshscope::view
