#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "app/gui/session/actions.h"
#include "app/gui/window/keys.h"

namespace meshscope::session {

/// As the settings file writes it and reads it: "Ctrl+Shift+P", "Left", "F2", "?".
std::string key_name(window::KeyPress press);
/// The same for the reader: "Ctrl Shift P", "←".
std::string key_label(window::KeyPress press);
/// Nothing for what names no key. Letters count in either case.
std::optional<window::KeyPress> parse_key(std::string_view name);

/// What a key press means now, by the table of commands and the user's own keys. Nothing for keys that have
/// no meaning, and while text is being typed (`typing`) for all but Escape and the Control combinations that
/// mean nothing in a text field: Ctrl+Left, Ctrl+Home, Ctrl+Z … are the field's.
std::optional<Action> key_action(const AppState& state, window::KeyPress press, bool typing);

}  // namespace meshscope::session
