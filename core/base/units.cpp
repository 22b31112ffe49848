#include "core/base/units.h"

#include <array>
#include <cstdio>

namespace meshscope {

std::string bytes_text(int64_t bytes) {
    constexpr std::array kUnits{"bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    auto value = static_cast<double>(bytes);
    std::size_t unit = 0;
    for (; value >= 1024 && unit + 1 < kUnits.size(); ++unit) value /= 1024;
    std::array<char, 64> text{};
    // Of 1000 to 1023 all four figures: three would need an exponent.
    std::snprintf(text.data(), text.size(), unit == 0 || value >= 999.5 ? "%.0f %s" : "%.3g %s", value,
                  kUnits[unit]);
    return text.data();
}

}  // namespace meshscope
