#include "app/cli/estimate_figures.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "app/cli/table.h"
#include "core/base/units.h"

namespace meshscope::cli {
namespace {

/// The most that llround() and the texts below take.
constexpr double kMost = 9e18;

}  // namespace

std::string fixed(double value, int digits) {
    char text[512];
    std::snprintf(text, sizeof text, "%.*f", digits, value);
    return text;
}

std::string percent(double fraction, bool sign) {
    if (!std::isfinite(fraction)) return "–";
    return (sign && fraction >= 0 ? "+" : "") + fixed(100 * fraction, 1) + " %";
}

std::string estimated_ms(double seconds) {
    if (seconds < 1e9) return milliseconds(std::llround(seconds * 1e9));
    char text[32];
    std::snprintf(text, sizeof text, "%.2e", seconds * 1e3);
    return text;
}

std::string estimated_bytes(double bytes) {
    return bytes_text(std::llround(std::min(bytes, kMost)));
}

}  // namespace meshscope::cli
