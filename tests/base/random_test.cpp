#include "core/base/random.h"

#include <cmath>

#include "tests/test.h"

using namespace meshscope;

// Known answers: kat_vectors of Random123 1.14 ("philox4x32 10" rows), the authors' own.
TEST_CASE("Philox gives the known answers of its authors") {
    CHECK(philox4x32_10({0, 0, 0, 0}, {0, 0}) ==
          std::array<uint32_t, 4>{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
    CHECK(philox4x32_10({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff}) ==
          std::array<uint32_t, 4>{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
    CHECK(philox4x32_10({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}) ==
          std::array<uint32_t, 4>{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

TEST_CASE("seed, stream and position each reach their words of the block") {
    // The third known answer again, through the 64-bit arguments.
    CHECK(random_words(0x299f31d0a4093822, 0x0370734413198a2e, 0x85a308d3243f6a88) ==
          std::array<uint32_t, 4>{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

TEST_CASE("uniform numbers fill from 0 to 1 evenly and normal ones have mean 0 and variance 1") {
    constexpr int kDraws = 100000;
    double sum = 0.0;
    double normal_sum = 0.0;
    double normal_squares = 0.0;
    std::array<int, 10> tenths{};
    for (uint64_t i = 0; i < kDraws; ++i) {
        const double u = uniform(1, 2, i);
        REQUIRE((u >= 0.0 && u < 1.0));
        sum += u;
        ++tenths[static_cast<std::size_t>(u * 10.0)];
        const double z = normal(1, 3, i);
        REQUIRE(std::abs(z) < 8.7);
        normal_sum += z;
        normal_squares += z * z;
    }
    // Five standard deviations of each estimate: 1/√(12 n), 1/√n, √(2/n), √(n·0.09).
    CHECK(std::abs(sum / kDraws - 0.5) < 5 * 0.2887 / std::sqrt(kDraws));
    CHECK(std::abs(normal_sum / kDraws) < 5 / std::sqrt(kDraws));
    CHECK(std::abs(normal_squares / kDraws - 1.0) < 5 * 1.4142 / std::sqrt(kDraws));
    for (const int n : tenths) CHECK(std::abs(n - kDraws / 10) < 5 * 94.9);
}

TEST_CASE("uniform_below is the high half of the product with 64 random bits") {
    for (uint64_t i = 0; i < 1000; ++i) {
        const auto words = random_words(7, 0, i);
        const uint64_t bits = (static_cast<uint64_t>(words[0]) << 32U) | words[1];
        for (const uint64_t n : {uint64_t{1}, uint64_t{2}, uint64_t{10}, uint64_t{1} << 40U})
            CHECK(uniform_below(n, 7, 0, i) < n);
        CHECK(uniform_below(uint64_t{1} << 63U, 7, 0, i) == bits >> 1U);
        CHECK(uniform_below(uint64_t{1} << 20U, 7, 0, i) == bits >> 44U);
    }
}
