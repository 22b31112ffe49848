#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "app/gui/view/format.h"

namespace meshscope::view {

/// Floating point operations as people read them: "1,980 FLOP" up to 99,999, then "262 kFLOP", "2.23 MFLOP",
/// "1.50 GFLOP", "4.00 TFLOP" with three digits. What is hovered and copied says format_count()'s.
inline std::string format_flops(int64_t flops) {
    if (flops <= 99'999) return format_count(flops) + " FLOP";
    constexpr std::array<const char*, 4> kUnits{" kFLOP", " MFLOP", " GFLOP", " TFLOP"};
    double value = static_cast<double>(flops) / 1e3;
    std::size_t unit = 0;
    for (; value >= 999.5 && unit + 1 < kUnits.size(); ++unit) value /= 1e3;
    const int decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
    std::string digits = std::to_string(static_cast<int64_t>(value * (decimals == 2   ? 100
                                                                      : decimals == 1 ? 10
                                                                                      : 1) +
                                                             0.5));
    if (decimals > 0) digits.insert(digits.size() - static_cast<std::size_t>(decimals), ".");
    return digits + kUnits[unit];
}

}  // namespace meshscope::view
