#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/gui/window/keys.h"

struct GLFWwindow;

namespace meshscope::window {

/// A window with an OpenGL 3.3 core context, current on the thread that made it.
class GlfwWindow {
  public:
    /// Throws DeviceError ("window.no_window") with the driver's reason.
    GlfwWindow(int width, int height, const std::string& title);
    ~GlfwWindow();
    GlfwWindow(const GlfwWindow&) = delete;
    GlfwWindow& operator=(const GlfwWindow&) = delete;

    GLFWwindow* handle() const { return window_; }
    bool should_close() const;
    void close();
    void set_title(const std::string& title);
    /// Shows what was drawn.
    void present();
    /// Handles what happened; waits up to `timeout_s` (0: not at all) for the first thing to happen.
    void poll(double timeout_s);
    /// Wakes a poll() that waits, from any thread.
    static void wake();

    /// Framebuffer size in pixels.
    void size(int& width, int& height) const;
    /// Its size as the constructor takes it: screen coordinates.
    void outer_size(int& width, int& height) const;
    float content_scale() const;

    /// Key presses since the last call, in order.
    std::vector<KeyPress> take_keys();
    /// Files dropped on the window since the last call.
    std::vector<std::string> take_drops();
    /// True once after input of any kind (keys, mouse, resize, focus, exposure).
    bool take_dirty();
    void copy_text(const std::string& text);

  private:
    struct Events;
    GLFWwindow* window_ = nullptr;
    std::unique_ptr<Events> events_;
};

}  // namespace meshscope::window
