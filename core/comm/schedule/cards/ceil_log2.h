#pragma once

#include <bit>
#include <cstdint>

namespace meshscope::comm {

/// ⌈lg p⌉ for p ≥ 1: how often p ranks double.
inline int32_t ceil_log2(int32_t p) {
    return std::bit_width(static_cast<uint32_t>(p - 1));
}

}  // namespace meshscope::comm
