#pragma once

#include <functional>
#include <memory>
#include <mutex>

namespace meshscope::session {

/// Work that goes on while the window is drawn. Two files make it, and CMakeLists.txt chooses: on a thread of
/// its own (background_thread.cpp), or on a stack of its own on the window's thread (background_fiber.cpp),
/// where a page has no other; then it moves on when the window gives it time, and until it pauses, waits or
/// ends.
class Background {
  public:
    /// Begins `body`, which must not throw. Throws Error where no thread is to be had (start_thread()).
    explicit Background(std::function<void(Background&)> body);
    /// Waits for the end of the body, which somebody has told to end.
    ~Background();
    Background(const Background&) = delete;
    Background& operator=(const Background&) = delete;

    /// By the window, once a frame: the work may go on for a while.
    void give_time();
    /// By the window: what wait() waits for may have come.
    void notify();

    /// By the work, from whatever runs for it: a good moment for the window to be drawn. Costs a thread
    /// nothing.
    void pause();
    /// By the work: returns when `until()`, which is asked under `guard`. The window calls notify().
    void wait(std::unique_lock<std::mutex>& guard, const std::function<bool()>& until);
    /// By the work: `part()`, which runs scenarios itself, with as much stack as the work began with; a rank,
    /// which may be who calls, can have far less. What it throws is thrown here.
    void with_room(const std::function<void()>& part);

  private:
    struct Machine;
    std::unique_ptr<Machine> machine_;
};

}  // namespace meshscope::session
