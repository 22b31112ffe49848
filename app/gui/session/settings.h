#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "app/gui/session/actions.h"
#include "core/base/message.h"

namespace meshscope::session {

/// What was under way when the window closed, to be told at the next start.
struct Unfinished {
    std::string what;  ///< "run", "edits", "export"
    std::string name;  ///< of the run; "" for an export
    std::string path;  ///< the scenario that was kept of it, or what the export was to write
    friend bool operator==(const Unfinished&, const Unfinished&) = default;
};

/// What is kept from one start to the next. What is empty was never chosen.
struct Settings {
    std::optional<view::Language> language;
    std::optional<window::ThemeKind> theme;
    std::optional<float> scale;
    std::optional<bool> reduced_motion;
    std::optional<bool> plain;
    int width = 0, height = 0;  ///< of the window, pixels; 0: not known
    Remembered remembered;
    /// Where the reader looked in each document, newest first.
    std::vector<std::pair<std::string, Viewpoint>> viewpoints;
    std::vector<Unfinished> unfinished;
};
inline constexpr std::size_t kMostViewpoints = 50;

/// The file of the settings: meshscope/settings.json below XDG_CONFIG_HOME, else below HOME/.config; "" where
/// neither is set, and nothing is kept then.
std::string settings_path(const std::string& xdg_config_home, const std::string& home);

/// Settings as they were read, and what is to be said of them.
struct ReadSettings {
    Settings settings;
    std::vector<Message> said;
    bool stays = false;  ///< there is a file, but what is in it is not known: it must not be written over
};

/// Reads the file; a missing one gives what is empty. One that is no JSON object is moved aside (its new name
/// is said), and one that cannot be read or moved is said and stays; what has a wrong type or value in it is
/// left out and said, and the file as it was is kept as "….before". Two commands on one key are said, too,
/// and what was unfinished. Never throws.
ReadSettings read_settings(const std::string& path);

/// The same of a text; `broken` tells whether it is no JSON object at all.
ReadSettings parse_settings(const std::string& text, bool& broken);

/// The file's text: JSON, two spaces, keys in a fixed order.
std::string settings_text(const Settings& settings);

/// Writes beside and renames, making the folder where it is missing. Throws IoError "file.cannot_write".
void write_settings(const std::string& path, const Settings& settings);

/// What opens a document again, the same from every folder: an absolute path, or a lesson's name; "" of what
/// is not kept, the modelled runs of plans.
std::string document_key(const Document& document);

/// The settings as the state has them now; `before` gives what the state does not hold (other documents'
/// places, the window's size).
Settings settings_of(const AppState& state, const Settings& before);

/// What the settings mean for a state that starts.
std::vector<Action> start_actions(const Settings& settings);

/// The place kept for a document; null when there is none.
const Viewpoint* viewpoint_kept(const Settings& settings, const Document& document);

}  // namespace meshscope::session
