#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include "core/base/kinds.h"

namespace meshscope::tensor {

/// The C++ type that holds one element of a dtype. bfloat16 is held in its 16 bits, as uint16_t.
template <class T>
struct DTypeOf;
template <>
struct DTypeOf<float> {
    static constexpr DType value = DType::float32;
};
template <>
struct DTypeOf<uint16_t> {
    static constexpr DType value = DType::bfloat16;
};
template <>
struct DTypeOf<int32_t> {
    static constexpr DType value = DType::int32;
};
template <>
struct DTypeOf<int64_t> {
    static constexpr DType value = DType::int64;
};
template <>
struct DTypeOf<uint8_t> {
    static constexpr DType value = DType::uint8;
};

/// The nearest bfloat16, ties to even, as the hardware and PyTorch round. Overflow gives infinity; a NaN
/// stays a quiet NaN (plain rounding of its bits could carry into infinity).
inline uint16_t to_bfloat16(float x) {
    const auto bits = std::bit_cast<uint32_t>(x);
    if (std::isnan(x)) return static_cast<uint16_t>((bits >> 16U) | 0x40U);
    const uint32_t tie_to_even = (bits >> 16U) & 1U;
    return static_cast<uint16_t>((bits + 0x7FFFU + tie_to_even) >> 16U);
}

/// Exact: a bfloat16 is the upper half of a float32.
inline float from_bfloat16(uint16_t x) {
    return std::bit_cast<float>(static_cast<uint32_t>(x) << 16U);
}

}  // namespace meshscope::tensor
