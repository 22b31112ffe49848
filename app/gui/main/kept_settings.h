#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "app/gui/session/settings.h"
#include "core/base/message.h"

namespace meshscope::gui {

/// The settings' file of a window: read when it opens, written when something changed, and at the end with
/// what is unfinished.
class KeptSettings {
  public:
    using Tell = std::function<void(const Message& message)>;

    /// `path` "": nothing is read nor written.
    explicit KeptSettings(std::string path);

    session::Settings
        now;  ///< as they were read, then as they were last kept; width and height of the window
    /// What was said of the file when it was read.
    const std::vector<Message>& said() const { return read_.said; }
    bool has_file() const { return !path_.empty(); }

    /// The window has begun in this state. What was unfinished was told, and leaves the file.
    void begin(const session::AppState& state);
    /// A frame was drawn: something may have changed since the file was written.
    void touch() { touched_ = true; }
    /// True when there may be something to write and the last time is so many seconds ago.
    bool due(double every_s) const;
    /// Writes what changed (`now.width` and `now.height` are the window's). A disk that refuses is told once.
    void keep(const session::AppState& state, const Tell& tell);
    /// The same at the end, with what is unfinished: `run` is under way (null: none), `saved` is the
    /// sandbox's text that was saved last. What cannot be kept is told, and all else is kept.
    void keep_at_end(const session::AppState& state, const session::RunRequest* run, const std::string& saved,
                     const Tell& tell);

  private:
    std::string path_;
    session::ReadSettings read_;
    std::string written_;  ///< the settings as the file has them
    std::chrono::steady_clock::time_point kept_at_{};
    bool refused_ = false, touched_ = false, unfinished_ = false;
};

}  // namespace meshscope::gui
