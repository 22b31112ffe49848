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
    explicit VirtualDisplay(const std::string& folder, const std::string& screen = "2000x1200x24");
    const std::string& name() const { return name_; }

  private:
    std::string name_;
    std::unique_ptr<Child> server_;
};

/// meshscope-app in a real window under a virtual display, driven by xdotool's pointer and keyboard.
class DrivenApp {
  public:
    DrivenApp(const VirtualDisplay& display, const std::string& folder, std::vector<std::string> arguments);

    /// The state that the program wrote last.
    nlohmann::json state() const;
    /// Waits until the state is as wanted, at most 20 s (a busy machine is slow); the state then. Throws with
    /// the last state when it never was.
    nlohmann::json wait_for(const std::string& what,
                            const std::function<bool(const nlohmann::json&)>& wanted) const;
    /// xdotool's words, e.g. {"key", "l"}; its window is filled in for "@".
    void xdotool(std::vector<std::string> words) const;
    void move(double x, double y) const;
    void click(const nlohmann::json& box) const;
    void key(const std::string& name) const;
    bool running() { return app_->running(); }
    /// Seconds of a processor that the program has used so far.
    double cpu_seconds() const;
    int close();
    std::string output() const;

  private:
    std::string display_, folder_, state_file_, window_;
    std::unique_ptr<Child> app_;
};

/// Runs a program to its end; its stdout. Throws when it fails.
std::string output_of(const std::vector<std::string>& arguments, const std::vector<std::string>& environment,
                      const std::string& folder);

/// A picture's box among the state's "places".
nlohmann::json place(const nlohmann::json& state, const std::string& kind, int a, int b = -1);

}  // namespace meshscope::test
