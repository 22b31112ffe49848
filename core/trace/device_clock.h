#pragma once

#include <cstdint>

namespace meshscope::trace {

/// The clock of a device that works behind the host, for one rank: stamps are put on its queues, between the
/// work, and read later, without stopping it.
class DeviceClock {
  public:
    virtual ~DeviceClock() = default;
    /// Stamps where the rank's own computing stands. Above 0. Rank's thread.
    virtual int64_t stamp_computing() = 0;
    /// Stamps where the queue of the running collective stands. Above 0. Running thread.
    virtual int64_t stamp_running() = 0;
    /// When the device passed a stamp, by the steady clock, in nanoseconds. Waits until it has. After the
    /// rank's last stamp, by any thread.
    virtual int64_t steady_ns(int64_t stamp) = 0;
};

}  // namespace meshscope::trace
