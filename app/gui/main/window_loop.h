#pragma once

#include <memory>

#include "app/gui/main/exporter.h"
#include "app/gui/main/options.h"
#include "app/gui/session/app_state.h"
#include "app/i18n/catalogue.h"

namespace meshscope::session {
class Session;
}

namespace meshscope::gui {

/// What the window takes from where it runs.
struct Surroundings {
    view::Language language = view::Language::en;  ///< the environment's, where none was ever chosen
    std::string settings;                          ///< file of what is kept; "": nothing is
    ExportTools tools;
};

/// Opens the window and runs until it is closed, or SIGTERM, SIGINT or SIGHUP asks the same. What is under
/// way then is stopped in order and told at the next start. A graphics driver that starts anew gets another
/// window with everything in it; a display that goes away ends the program after what is kept was written.
/// Draws only when something changed or moves. What is kept from one start to the next is read first and
/// written when it changed and at the end.
void run_window(const Options& options, const i18n::Catalogue& catalogue, session::Session& session,
                const Surroundings& around);

/// The same for whoever calls for each frame itself, as a page does.
class WindowLoop {
  public:
    /// All of them outlive it. Opens the window and begins to open what the options name. Throws DeviceError.
    WindowLoop(const Options& options, const i18n::Catalogue& catalogue, session::Session& session,
               const Surroundings& around);
    ~WindowLoop();
    WindowLoop(const WindowLoop&) = delete;
    WindowLoop& operator=(const WindowLoop&) = delete;

    /// Takes what came in and draws, where something changed or moves. False: the window is to be closed.
    bool frame();
    /// What is under way is kept, to be told at the next start.
    void end();

  private:
    class Loop;
    std::unique_ptr<Loop> loop_;
};

}  // namespace meshscope::gui
