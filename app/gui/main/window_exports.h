#pragma once

#include <exception>
#include <memory>
#include <string>

#include "app/gui/main/exporter.h"
#include "app/gui/main/stage.h"
#include "app/gui/main/telling.h"
#include "app/gui/session/actions.h"
#include "app/gui/window/glfw_window.h"
#include "app/gui/window/imgui_host.h"

namespace meshscope::gui {

/// What the window writes of what it shows: a picture at once, all else a frame at a time beside its own.
/// What became of it is told.
class WindowExports {
  public:
    /// All of them outlive it.
    WindowExports(window::GlfwWindow& window, window::GlHost& host, Stage& stage, const Telling& telling,
                  const i18n::Catalogue& catalogue, const ExportTools& tools);

    /// Asks first where a file would be replaced.
    void start(const session::StartExport& wanted);
    /// Makes the next frame of what is under way.
    void frame();
    /// Gives up what is under way, and tells so.
    void cancel();
    /// The same without a word. Gives the path that it had; "": nothing was under way.
    std::string drop();
    /// The graphics are gone: nothing of what is under way is left, and nothing is told.
    void abandon();
    /// The window closes.
    void end() { exporter_.reset(); }

  private:
    void write_picture(const std::string& wanted);
    void written(const std::string& path);
    void failed(const std::exception& error);

    window::GlfwWindow& window_;
    window::GlHost& host_;
    Stage& stage_;
    const Telling& telling_;
    const i18n::Catalogue& catalogue_;
    const ExportTools& tools_;
    std::unique_ptr<Exporter> exporter_;
};

}  // namespace meshscope::gui
