#pragma once

#include <vector>

#include "app/gui/panels/panels.h"
#include "app/gui/view/compare_view.h"

namespace meshscope::panels {

/// The runs that stand side by side, as the comparison takes them: on the shown clock, names made different.
std::vector<view::ComparedRun> compared_runs(const session::AppState& state);

/// The comparison; with one run alone what can be laid beside it.
void compare_host(Ui& ui, Memory& memory, Rect box);

/// What a click on a shape of the comparison means; false when it is none of its own.
bool click_compare(Ui& ui, const view::Id& id, bool twice);
/// What the pointer is over in the comparison; "" for what has none.
std::string compare_status(const Ui& ui, const view::Id& id);

}  // namespace meshscope::panels
