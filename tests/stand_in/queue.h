#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

namespace meshscope::stand_in {

/// The end of the work that was in a stream when an event was recorded.
class Mark {
  public:
    void reach();
    void wait();
    bool is_reached();
    /// When it was reached.
    std::chrono::steady_clock::time_point at();

  private:
    std::mutex mutex_;
    std::condition_variable changed_;
    bool reached_ = false;
    std::chrono::steady_clock::time_point at_;
};

/// A stream: a thread that does what it is given, in order. What one queue does happens at no certain time
/// beside what another does, unless a Mark orders them: a wait that was forgotten is a real race.
class Queue {
  public:
    explicit Queue(int32_t device);
    /// Does the rest first.
    ~Queue();
    Queue(const Queue&) = delete;
    Queue& operator=(const Queue&) = delete;

    int32_t device() const { return device_; }
    void add(std::function<void()> work);
    void wait_for_all();
    bool is_idle();

    /// Each piece of work takes this much longer, in all queues.
    static void delay(int64_t ns);

  private:
    void run();

    int32_t device_;
    std::mutex mutex_;
    std::condition_variable given_, done_;
    std::deque<std::function<void()>> work_;
    bool busy_ = false, ends_ = false;
    std::thread thread_;
};

}  // namespace meshscope::stand_in
