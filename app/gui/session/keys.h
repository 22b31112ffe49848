#pragma once

#include <optional>

#include "app/gui/session/actions.h"
#include "app/gui/window/keys.h"

namespace meshscope::session {

/// What a key press means now, by the table of commands and the user's own keys. Nothing for keys that have
/// no meaning, and while text is being typed (`typing`) for all but Escape and the Control combinations.
std::optional<Action> key_action(const AppState& state, window::KeyPress press, bool typing);

}  // namespace meshscope::session
