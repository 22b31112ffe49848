#include "backends/cuda/gpu_clock.h"

#include <cmath>
#include <utility>

#include "core/base/clock.h"
#include "core/base/error.h"

namespace meshscope::backends::cuda {
namespace {

constexpr int64_t kNewBaseAfterNs = 1'000'000'000;  // a device tells elapsed times with 24 bits
/// How many stamps may wait to be read before anybody looks.
constexpr std::size_t kLookFrom = 64;

}  // namespace

void GpuClock::start() {
    GpuEvent base(compute_.gpu(), Timed::yes);
    compute_.synchronize();
    base.record(compute_);
    base.synchronize();
    base_ns_ = meshscope::steady_ns();
    base_ = std::move(base);
}

int64_t GpuClock::stamp(const GpuStream& stream) noexcept {
    const std::lock_guard lock(mutex_);
    try {
        return record(stream);
    } catch (const DeviceError&) {
        return -meshscope::steady_ns();
    }
}

int64_t GpuClock::record(const GpuStream& stream) {
    if (!base_) start();  // a run that records nothing needs no clock
    if (under_way_.size() >= kLookFrom) read_passed(false);
    if (free_.empty()) free_.emplace_back(stream.gpu(), Timed::yes);
    free_.back().record(stream);
    under_way_.push_back(std::move(free_.back()));
    free_.pop_back();
    return static_cast<int64_t>(read_.size() + under_way_.size());
}

int64_t GpuClock::steady_ns(int64_t stamp) {
    if (stamp < 0) return -stamp;
    const std::lock_guard lock(mutex_);
    try {
        if (stamp > static_cast<int64_t>(read_.size())) read_passed(true);
    } catch (const DeviceError&) {
        read_.resize(read_.size() + under_way_.size(), meshscope::steady_ns());
        under_way_.clear();
    }
    return read_.at(static_cast<std::size_t>(stamp - 1));
}

void GpuClock::read_passed(bool wait) {
    while (!under_way_.empty()) {
        GpuEvent& event = under_way_.front();
        if (wait)
            event.synchronize();
        else if (!event.is_done())
            return;
        const int64_t ns = base_ns_ + std::llround(event.elapsed_ns(*base_));
        read_.push_back(ns);
        if (ns - base_ns_ >= kNewBaseAfterNs) {
            std::swap(*base_, event);
            base_ns_ = ns;
        }
        free_.push_back(std::move(event));
        under_way_.pop_front();
    }
}

}  // namespace meshscope::backends::cuda
