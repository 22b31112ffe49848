#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace meshscope::test {

/// A program this test started; ended when it goes.
class Child {
  public:
    /// `arguments[0]` is looked for in PATH; `environment` lines "NAME=value" are added, `output_to` takes
    /// stdout and stderr.
    Child(const std::vector<std::string>& arguments, const std::vector<std::string>& environment,
          const std::string& output_to, int keep_fd = -1);
    ~Child();
    Child(const Child&) = delete;
    Child& operator=(const Child&) = delete;
    bool running();
    /// Waits; the exit status, -1 when a signal ended it.
    int wait();
    pid_t pid() const { return pid_; }

  private:
    pid_t pid_ = -1;
};

/// Xvfb on a display of its own.
class VirtualDisplay {
  public:
    explicit VirtualDisplay(const std::string& folder, const std::string& screen = "2000x1200x24",
                            const std::vector<std::string>& more = {});
    const std::string& name() const { return name_; }
    /// The server ends, as when its machine goes away.
    void end() { server_.reset(); }

  private:
    std::string name_;
    std::unique_ptr<Child> server_;
};

/// meshscope-app in a real window under a virtual display, driven by xdotool's pointer and keyboard.
class DrivenApp {
  public:
    /// `environment`: lines "NAME=value" beside those that every test has.
    DrivenApp(const VirtualDisplay& display, const std::string& folder, std::vector<std::string> arguments,
              std::vector<std::string> environment = {});

    /// The state that the program wrote last.
    nlohmann::json state() const;
    /// Waits until the state is as wanted; the state then. Throws with the last state when it never was,
    /// after two minutes times `patience`: a busy machine or a sanitizer is slow.
    nlohmann::json wait_for(const std::string& what, const std::function<bool(const nlohmann::json&)>& wanted,
                            int patience = 1) const;
    /// xdotool's words, e.g. {"key", "l"}; its window is filled in for "@".
    void xdotool(std::vector<std::string> words) const;
    /// The same, and waits until the program has drawn what came of it.
    void act(std::vector<std::string> words) const;
    void move(double x, double y) const;
    /// Moves there, waits until the program has seen the pointer, presses and releases.
    void click(const nlohmann::json& box) const;
    /// The same where a box of the state stands, once it stands still under the pointer: what is typed or
    /// slides moves others.
    void click_at(const std::function<nlohmann::json(const nlohmann::json&)>& where) const;
    /// Clicks a widget by its name in the state, once it is there.
    void click(const std::string& widget) const;
    void click(const char* widget) const { click(std::string(widget)); }
    /// The same after the wheel has brought it between these heights of the window.
    void scroll_and_click(const std::string& widget, double top, double bottom) const;
    void key(const std::string& name) const;
    /// Keys together, held until a frame has seen them: ImGui's own fields lose a shorter tap.
    void hold(const std::vector<std::string>& keys) const;
    /// Clicks a field and writes this in the place of what stands in it.
    void fill(const std::string& field, const std::string& text) const;
    bool running() { return app_->running(); }
    /// Seconds of a processor that the program has used so far.
    double cpu_seconds() const;
    /// Asks to close, as a window manager does; the exit status.
    int close();
    /// Sends a signal and waits; the exit status.
    int end(int signal);
    int wait() { return app_->wait(); }
    pid_t pid() const { return app_->pid(); }
    /// Looks for the window again: another stands in its place.
    void find_window();
    std::string output() const;

  private:
    void press() const;
    int64_t frame() const;
    void seen(int64_t before) const;
    std::string display_, folder_, state_file_, window_;
    mutable int pointer_x_ = -1, pointer_y_ = -1;
    std::unique_ptr<Child> app_;
};

/// Runs a program to its end; its stdout. Throws when it fails.
std::string output_of(const std::vector<std::string>& arguments, const std::vector<std::string>& environment,
                      const std::string& folder);

/// Whether a picture with such a shape is on screen.
bool has_place(const nlohmann::json& state, const std::string& kind, int a, int b = -1);

/// A picture's box among the state's "places".
nlohmann::json place(const nlohmann::json& state, const std::string& kind, int a, int b = -1);

}  // namespace meshscope::test
