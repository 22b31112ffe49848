#pragma once

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/gui/window/keys.h"

struct GLFWwindow;

namespace meshscope::window {

/// A window with an OpenGL 3.3 core context, current on the thread that made it; or a page's canvas with
/// WebGL 2, which is always as large as the page.
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
    /// True when the driver has started anew and taken the context with it (a GPU that hung, or was changed):
    /// nothing is drawn any more until renew(). Cost: one query.
    bool context_lost() const;
    /// Another window with a context of its own, where this one stood and of its size. Keys and drops that
    /// were not taken yet stay. Throws DeviceError ("window.no_window"); it can be tried again.
    void renew();
    /// Called once when the display goes away under the window, where the system would end the program
    /// without a word: `last` must touch neither window nor graphics, and the program ends after it.
    static void on_display_gone(std::function<void()> last);
    /// Handles what happened; waits up to `timeout_s` (0: not at all) for the first thing to happen. A key
    /// that was pressed and let go since the poll before counts as down for one frame, or ImGui would not see
    /// it.
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
    /// What copies the way to what is on show: the words of the command line that opens it, as a line for a
    /// shell; a page's is a link to itself.
    static std::string way_to(const std::vector<std::string>& command);
    /// Whether somebody may have the window read to them: a page's accessibility tree. Then tell() is called.
    static bool is_heard();
    /// What is on show now, as text.
    static void tell(const std::string& text);
    /// Whether the user sees the files that are written; those of a page are the browser's.
    static bool files_are_seen();
    /// Lets the user choose files; they come as if dropped. Only of a page, where no path leads to them.
    static void pick_files();
    /// A file was written for the user: a page, whose files nobody else sees, gives it as a download.
    static void hand_over(const std::string& path);

  private:
    struct Events;
    void receive(double timeout_s);
    void make(int width, int height);
    [[noreturn]] static void refuse();
    /// Why there is no window.
    static std::string reason();
    /// Null: there is none to be had.
    static GLFWwindow* create(int width, int height, const std::string& title);
    std::string title_;
    GLFWwindow* window_ = nullptr;
    std::array<int, 4> renewed_{};  ///< place and size of the one that renew() takes the place of
    std::unique_ptr<Events> events_;
};

}  // namespace meshscope::window
