#pragma once

#include <string>
#include <vector>

#include "app/gui/session/app_state.h"

namespace meshscope::test {

/// A place in the window that somebody may look at: a view, a panel, a sheet.
struct WindowPlace {
    std::string name;
    session::AppState state;  ///< in English, the dark theme and 100 %; whoever looks sets them
};

/// Every view and every part that can stand in the window, each with really run data: the eight views, the
/// welcome page, the palette and the sheets, the sandbox, held ranks, a drawn deadlock, what-if answers, a
/// comparison, presenting. Runs made for it are made once a process. Cost: some seconds the first time.
const std::vector<WindowPlace>& window_places();

}  // namespace meshscope::test
