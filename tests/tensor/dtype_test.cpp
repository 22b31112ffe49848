#include "core/tensor/dtype.h"

#include <bit>
#include <cmath>
#include <limits>

#include "tests/test.h"

using namespace meshscope::tensor;

TEST_CASE("bfloat16 rounds to the nearest, ties to even") {
    CHECK(to_bfloat16(1.0F) == 0x3F80);
    // 1 + 2^-8 lies half-way between 1 and 1 + 2^-7: to even is down; 1 + 3·2^-8 goes up.
    CHECK(to_bfloat16(1.0F + 0x1.0p-8F) == 0x3F80);
    CHECK(to_bfloat16(1.0F + 0x3.0p-8F) == 0x3F82);
    CHECK(to_bfloat16(1.0F + 0x1.0p-8F + 0x1.0p-20F) == 0x3F81);
    CHECK(to_bfloat16(-1.0F - 0x1.0p-8F) == 0xBF80);
    CHECK(to_bfloat16(-0.0F) == 0x8000);
    CHECK(to_bfloat16(std::numeric_limits<float>::max()) == 0x7F80);  // overflow: infinity
    CHECK(to_bfloat16(-std::numeric_limits<float>::infinity()) == 0xFF80);
    CHECK(to_bfloat16(std::numeric_limits<float>::denorm_min()) == 0);
}

TEST_CASE("a NaN stays a NaN, also where rounding its bits would carry") {
    for (const uint32_t bits : {0x7FFFFFFFU, 0x7F800001U, 0xFFC00000U, 0xFFFFFFFFU})
        CHECK(std::isnan(from_bfloat16(to_bfloat16(std::bit_cast<float>(bits)))));
}

TEST_CASE("every float16 survives the way through float32, and half way between two the even one is taken") {
    const auto half = [](uint32_t bits) { return Float16{static_cast<uint16_t>(bits)}; };
    for (uint32_t i = 0; i <= 0xFFFF; ++i) {
        const float value = from_float16(half(i));
        if (std::isnan(value)) {
            REQUIRE((i & 0x7FFFU) > 0x7C00U);
            REQUIRE(std::isnan(from_float16(to_float16(value))));
            continue;
        }
        REQUIRE(to_float16(value) == half(i));
        // IEEE 754: (-1)^s · 2^(e-15) · 1.m, or 2^-14 · 0.m where e is 0.
        const int exponent = static_cast<int>((i >> 10U) & 31U);
        const double m = double(i & 0x3FFU) / 1024;
        if (exponent < 31)
            REQUIRE(double(std::abs(value)) ==
                    (exponent == 0 ? std::ldexp(m, -14) : std::ldexp(1 + m, exponent - 15)));
    }
    for (uint32_t i = 0; i < 0x7BFF; ++i) {  // neighbours, both finite; their middle is exact in float32
        const float low = from_float16(half(i)), high = from_float16(half(i + 1)), middle = (low + high) / 2;
        const Float16 even = half(i % 2 == 0 ? i : i + 1);
        REQUIRE(to_float16(middle) == even);
        REQUIRE(to_float16(-middle).bits == (even.bits | 0x8000U));
        REQUIRE(to_float16(std::nextafter(middle, 0.0F)) == half(i));
        REQUIRE(to_float16(std::nextafter(middle, 1e9F)) == half(i + 1));
    }
}

TEST_CASE("float16 overflows to infinity half way past 65504, and underflows to zero below half its least") {
    CHECK(to_float16(std::nextafter(65520.0F, 0.0F)).bits == 0x7BFF);
    CHECK(to_float16(65520.0F).bits == 0x7C00);
    CHECK(to_float16(-1e10F).bits == 0xFC00);
    CHECK(to_float16(0x1p-25F).bits == 0);  // half the least: to the even one, 0
    CHECK(to_float16(std::nextafter(0x1p-25F, 1.0F)).bits == 1);
    CHECK(to_float16(-0.0F).bits == 0x8000);
    CHECK(to_float16(std::numeric_limits<float>::denorm_min()).bits == 0);
}

TEST_CASE("every bfloat16 survives the way through float32") {
    for (uint32_t i = 0; i <= 0xFFFF; ++i) {
        const auto half = static_cast<uint16_t>(i);
        if (std::isnan(from_bfloat16(half))) continue;
        REQUIRE(to_bfloat16(from_bfloat16(half)) == half);
    }
}
