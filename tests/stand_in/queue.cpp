#include "tests/stand_in/queue.h"

#include <atomic>
#include <utility>

namespace meshscope::stand_in {
namespace {

std::atomic<int64_t> g_delay_ns{0};

}  // namespace

void Mark::reach() {
    const std::lock_guard lock(mutex_);
    reached_ = true;
    at_ = std::chrono::steady_clock::now();
    changed_.notify_all();
}

void Mark::wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return reached_; });
}

bool Mark::is_reached() {
    const std::lock_guard lock(mutex_);
    return reached_;
}

std::chrono::steady_clock::time_point Mark::at() {
    const std::lock_guard lock(mutex_);
    return at_;
}

Queue::Queue(int32_t device) : device_(device), thread_([this] { run(); }) {}

Queue::~Queue() {
    {
        const std::lock_guard lock(mutex_);
        ends_ = true;
        given_.notify_all();
    }
    thread_.join();
}

void Queue::add(std::function<void()> work) {
    const std::lock_guard lock(mutex_);
    work_.push_back(std::move(work));
    given_.notify_one();
}

void Queue::wait_for_all() {
    std::unique_lock lock(mutex_);
    done_.wait(lock, [this] { return work_.empty() && !busy_; });
}

bool Queue::is_idle() {
    const std::lock_guard lock(mutex_);
    return work_.empty() && !busy_;
}

void Queue::delay(int64_t ns) {
    g_delay_ns = ns;
}

void Queue::run() {
    std::unique_lock lock(mutex_);
    while (true) {
        given_.wait(lock, [this] { return !work_.empty() || ends_; });
        if (work_.empty()) return;
        const std::function<void()> work = std::move(work_.front());
        work_.pop_front();
        busy_ = true;
        lock.unlock();
        if (const int64_t ns = g_delay_ns; ns > 0) std::this_thread::sleep_for(std::chrono::nanoseconds(ns));
        work();
        lock.lock();
        busy_ = false;
        if (work_.empty()) done_.notify_all();
    }
}

}  // namespace meshscope::stand_in
