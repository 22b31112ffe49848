#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace meshscope::cli {

/// Steps that a benchmark trains before it counts: DDP's buckets are rebuilt, caches and lists are warm.
inline constexpr int32_t kWarmUpSteps = 3;

/// The middle value; the upper one of an even number, 0 of none.
inline double median(std::vector<double> values) {
    if (values.empty()) return 0;
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

}  // namespace meshscope::cli
