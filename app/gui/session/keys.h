#pragma once

#include <optional>

#include "app/gui/session/app_state.h"
#include "app/gui/window/keys.h"

namespace meshscope::session {

/// What a key press means now. Nothing for keys that have no meaning, and while text is being typed
/// (`typing`) for all but Escape and the Control combinations.
std::optional<Action> key_action(const AppState& state, window::KeyPress press, bool typing);

/// One row of the key sheet: what to press, and the id of the sentence that says what it does.
struct KeyHelp {
    const char* keys;
    const char* text_id;
};
const std::vector<KeyHelp>& key_help();

}  // namespace meshscope::session
