#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include "core/base/kinds.h"

namespace meshscope::tensor {

/// One float16 (IEEE 754 binary16) in its 16 bits. Only cast, scale and the collectives know it: nothing is
/// computed in it, gradients travel in it.
struct Float16 {
    uint16_t bits = 0;
    friend bool operator==(Float16, Float16) = default;
};

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
template <>
struct DTypeOf<Float16> {
    static constexpr DType value = DType::float16;
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

/// The nearest float16, ties to even (IEEE 754 roundTiesToEven), subnormal numbers included. From 65520 on
/// the result is infinity; a NaN stays a quiet NaN.
inline Float16 to_float16(float x) {
    const auto bits = std::bit_cast<uint32_t>(x);
    const auto sign = static_cast<uint16_t>((bits >> 16U) & 0x8000U);
    const uint32_t magnitude = bits & 0x7FFFFFFFU;
    const auto with_sign = [sign](uint32_t half) { return Float16{static_cast<uint16_t>(sign | half)}; };
    if (magnitude > 0x7F800000U) return with_sign(0x7E00U | ((magnitude >> 13U) & 0x1FFU));  // NaN
    if (magnitude >= 0x477FF000U) return with_sign(0x7C00U);  // 65520, half way to the next power, and above
    if (magnitude < 0x38800000U) {                            // below 2^-14: a multiple of 2^-24
        // The sum lies where a float's last bit is worth 2^-24, so the addition itself rounds, ties to even.
        const float shifted = std::bit_cast<float>(magnitude) + 0.5F;
        return with_sign(std::bit_cast<uint32_t>(shifted) - std::bit_cast<uint32_t>(0.5F));
    }
    const uint32_t tie_to_even = (magnitude >> 13U) & 1U;
    const uint32_t rounded = magnitude + 0xFFFU + tie_to_even;
    return with_sign((rounded - 0x38000000U) >> 13U);  // the exponents' biases differ by 112
}

/// Exact: every float16 is a float32.
inline float from_float16(Float16 x) {
    const uint32_t sign = static_cast<uint32_t>(x.bits & 0x8000U) << 16U;
    const uint32_t magnitude = x.bits & 0x7FFFU;
    if (magnitude >= 0x7C00U)  // infinity and NaN
        return std::bit_cast<float>(sign | 0x7F800000U | ((magnitude & 0x3FFU) << 13U));
    if (magnitude < 0x0400U) {  // zero and the subnormal numbers
        const float value = static_cast<float>(magnitude) * 0x1p-24F;
        return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(value));
    }
    return std::bit_cast<float>(sign | ((magnitude << 13U) + 0x38000000U));
}

}  // namespace meshscope::tensor
