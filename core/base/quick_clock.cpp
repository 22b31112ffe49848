#include "core/base/quick_clock.h"

#include <chrono>
#include <cmath>
#include <fstream>
#include <optional>
#include <string>

namespace meshscope {
namespace {

constexpr uint64_t kValidTicks = uint64_t{1} << 17;

#if defined(__x86_64__)
constexpr uint64_t kRateTicks = uint64_t{1} << 19;
/// A reading of both that takes longer (some 0.4 µs) was interrupted; the two do not belong together.
constexpr uint64_t kInterruptedTicks = 1000;
constexpr int kTries = 4;

struct Both {
    uint64_t ticks = 0;
    int64_t ns = 0;
};

/// Counter and clock of one moment; nothing when each try was interrupted.
std::optional<Both> read_both() {
    for (int i = 0; i < kTries; ++i) {
        const uint64_t before = __builtin_ia32_rdtsc();
        const int64_t ns = steady_ns();
        const uint64_t took = __builtin_ia32_rdtsc() - before;
        if (took < kInterruptedTicks) return Both{before + took / 2, ns};
    }
    return std::nullopt;
}

/// Whether the counter runs at one rate, and alike on all cores, which the kernel has watched.
bool kernel_trusts_counter() {
    std::ifstream file("/sys/devices/system/clocksource/clocksource0/current_clocksource");
    std::string name;
    return std::getline(file, name) && name == "tsc";
}

uint64_t measure_scale() {
    if (!kernel_trusts_counter()) return 0;
    const std::optional<Both> first = read_both();
    if (!first) return 0;
    while (__builtin_ia32_rdtsc() - first->ticks < kRateTicks) {
    }
    const std::optional<Both> last = read_both();
    if (!last || last->ticks <= first->ticks) return 0;
    const double ns_per_tick =
        static_cast<double>(last->ns - first->ns) / static_cast<double>(last->ticks - first->ticks);
    const bool plausible = ns_per_tick > 0.05 && ns_per_tick < 20;
    return plausible ? static_cast<uint64_t>(std::ldexp(ns_per_tick, 32)) : 0;
}
#else
uint64_t measure_scale() {
    return 0;
}
#endif

}  // namespace

int64_t steady_ns() {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(
               std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

int64_t wall_ns() {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(
               std::chrono::system_clock::now().time_since_epoch())
        .count();
}

QuickClock::QuickClock() {
    static const uint64_t scale = measure_scale();
    scale_ = scale;
}

int64_t QuickClock::renewed() {
    valid_ = 0;
#if defined(__x86_64__)
    if (scale_ != 0) {
        if (const std::optional<Both> now = read_both()) {
            ticks_ = now->ticks;
            ns_ = now->ns;
            valid_ = kValidTicks;
            return last_ = std::max(last_, ns_);
        }
    }
#endif
    return last_ = std::max(last_, steady_ns());
}

}  // namespace meshscope
