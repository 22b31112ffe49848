#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/gui/session/actions.h"
#include "app/gui/window/keys.h"

namespace meshscope::session {

/// Something a user can do: the one list from which the keys, the key sheet, the command palette and the
/// settings file are made. A new command is one more line of the table in commands.cpp and its sentence in
/// the catalogue.
struct Command {
    const char* id;                      ///< the id of its sentence, "keys.play"; "play" in the settings file
    std::vector<window::KeyPress> keys;  ///< the usual ones; none: only in the palette
    /// What it does now; nothing where it means nothing (no document is open, another view).
    std::optional<Action> (*action)(const AppState&);
};

/// Every command, in the order of the key sheet.
const std::vector<Command>& commands();

/// The keys that call a command: the user's own where there are some.
const std::vector<window::KeyPress>& keys_of(const Command& command, const OwnKeys& own);

/// The command that a press calls; null when none does. A press with Shift alone also finds what stands
/// without it ("L" typed as a capital). Where two commands have one key, the user's own choice goes first,
/// then the order of the table.
const Command* command_of(window::KeyPress press, const OwnKeys& own);

/// Two commands with one key, as the settings file made it.
struct KeyConflict {
    window::KeyPress press;
    const char *first, *second;  ///< ids; `first` gets the key
};
std::vector<KeyConflict> conflicts(const OwnKeys& own);

}  // namespace meshscope::session
