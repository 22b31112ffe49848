#include "app/gui/session/keys.h"

#include "app/gui/session/commands.h"

namespace meshscope::session {

std::optional<Action> key_action(const AppState& s, window::KeyPress press, bool typing) {
    // While somebody types, letters and arrows are the field's.
    if (typing && !press.control && press.key != window::Key::escape) return {};
    if (typing && press.key == window::Key::z) return {};  // and so is taking back what was typed
    const Command* command = command_of(press, s.remembered.keys);
    return command != nullptr ? command->action(s) : std::nullopt;
}

}  // namespace meshscope::session
