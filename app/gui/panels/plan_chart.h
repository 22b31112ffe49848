#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "app/gui/panels/panels.h"
#include "app/gui/session/planned.h"

namespace meshscope::panels {

/// "3.20 ms"; of what no number holds the most that it does.
std::string step_time_text(double seconds);

/// The plan's question, each value between buttons for less and more; returns the y below. `box`: where it
/// begins and its width.
float plan_question(Ui& ui, Memory& memory, const session::Planned& plan, Rect box);

/// A plan's layouts by a step's time (logarithmic where the slowest takes more than four times the fastest)
/// and the memory that a GPU needs, with the line of what it has. A click chooses a layout, a double click
/// opens its modelled run. Gives the layout that the pointer is at. Each is noted as a shape "layout".
std::optional<std::size_t> plan_chart(Ui& ui, Memory& memory, const session::Planned& plan, Rect box);

}  // namespace meshscope::panels
