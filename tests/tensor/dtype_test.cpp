#include "core/tensor/dtype.h"

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

TEST_CASE("every bfloat16 survives the way through float32") {
    for (uint32_t i = 0; i <= 0xFFFF; ++i) {
        const auto half = static_cast<uint16_t>(i);
        if (std::isnan(from_bfloat16(half))) continue;
        REQUIRE(to_bfloat16(from_bfloat16(half)) == half);
    }
}
