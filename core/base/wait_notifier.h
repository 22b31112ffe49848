#pragma once

#include <chrono>

namespace meshscope {

/// When to say that something is still being waited for: first after `first`, then each time when a wait is
/// twice as long as the one that was told last. Whoever waits often is told of a few times and no more.
class WaitNotifier {
  public:
    using Time = std::chrono::milliseconds;
    static constexpr Time kFirst{5'000};
    /// Where processes meet, what they wait for is mostly a mistake of whoever started them.
    static constexpr Time kMeeting{3'000};

    explicit WaitNotifier(Time first = kFirst) : next_(first) {}

    /// How long a wait must have lasted before there is something to say.
    Time next() const { return next_; }
    /// Whether it is time; then it is counted as told.
    bool is_due(Time waited) {
        if (waited < next_) return false;
        next_ = 2 * waited;
        return true;
    }
    /// A time as it is told: in seconds, to a tenth.
    static double seconds(Time time) { return static_cast<double>(time.count() / 100) / 10; }

  private:
    Time next_;
};

}  // namespace meshscope
