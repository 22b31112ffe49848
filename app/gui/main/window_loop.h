#pragma once

#include <memory>

#include "app/gui/main/options.h"
#include "app/gui/session/app_state.h"
#include "app/i18n/catalogue.h"

namespace meshscope::session {
class Session;
}

namespace meshscope::gui {

/// Opens the window and runs until it is closed. Draws only when something changed or moves.
void run_window(const Options& options, const i18n::Catalogue& catalogue, session::Session& session);

}  // namespace meshscope::gui
