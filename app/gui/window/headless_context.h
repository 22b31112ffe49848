#pragma once

#include <memory>

namespace meshscope::window {

/// An OpenGL 3.3 core context without any display, through EGL: Mesa's surfaceless platform first (software,
/// the same bytes every time), else an EGL device (a driver without Mesa). Current on the thread that made
/// it.
class HeadlessContext {
  public:
    /// Throws DeviceError ("window.no_egl") naming what failed and the package that is missing.
    HeadlessContext();
    ~HeadlessContext();
    HeadlessContext(const HeadlessContext&) = delete;
    HeadlessContext& operator=(const HeadlessContext&) = delete;

  private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

/// Refuses to draw where a limit of addresses (ulimit -v) leaves too few for it: drivers that draw on the
/// processor, and LLVM, which they compile with, end the program where they can map nothing. Throws
/// DeviceError "window.no_room" {need, option, free}. Cost: some system calls.
void require_drawing_room();

}  // namespace meshscope::window
