#pragma once

#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <vector>

#include "backends/cuda/gpu.h"
#include "core/trace/device_clock.h"

namespace meshscope::backends::cuda {

/// The device's clock for one rank: a stamp is a timed event on a stream, read when the stream has passed it.
/// Events are used again, so there are no more of them than stamps that the device has not come to.
///
/// A stamp's time is the host's at a moment when the device stood still, once, plus what the device says has
/// passed since, by events no more than a second apart: within about 1 µs a second of the steady clock.
class GpuClock {
  public:
    /// `compute` is waited for at the first stamp; it outlives the clock.
    explicit GpuClock(const GpuStream& compute) : compute_(compute) {}

    /// Stamps where `stream` stands; above 0. Any thread. Throws DeviceError.
    int64_t stamp(const GpuStream& stream);
    /// When the device passed it, in nanoseconds of the steady clock; waits until it has.
    int64_t steady_ns(int64_t stamp);

  private:
    /// Reads what the device has passed, oldest first; all of it, waiting, where `wait`.
    void read_passed(bool wait);
    void start();

    const GpuStream& compute_;
    std::mutex mutex_;
    std::optional<GpuEvent> base_;  ///< none: no stamp was asked for yet
    int64_t base_ns_ = 0;
    std::vector<int64_t> read_;       ///< [stamp - 1]
    std::deque<GpuEvent> under_way_;  ///< of the stamps after those that were read
    std::vector<GpuEvent> free_;
};

}  // namespace meshscope::backends::cuda
