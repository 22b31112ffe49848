#include "core/base/random.h"

#include <cmath>
#include <numbers>

namespace meshscope {
namespace {

// The paper's constants: two multipliers, and the golden ratio and √3 - 1 as Weyl steps of the key.
constexpr uint64_t kMultiplier0 = 0xD2511F53U;
constexpr uint64_t kMultiplier1 = 0xCD9E8D57U;
constexpr uint32_t kWeyl0 = 0x9E3779B9U;
constexpr uint32_t kWeyl1 = 0xBB67AE85U;

constexpr uint32_t low(uint64_t x) {
    return static_cast<uint32_t>(x);
}
constexpr uint32_t high(uint64_t x) {
    return static_cast<uint32_t>(x >> 32U);
}

/// 53 random bits as a number in [0, 1).
double unit_interval(uint32_t a, uint32_t b) {
    const uint64_t bits = (static_cast<uint64_t>(a) << 32U) | b;
    return static_cast<double>(bits >> 11U) * 0x1.0p-53;
}

}  // namespace

std::array<uint32_t, 4> philox4x32_10(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key) {
    for (int round = 0; round < 10; ++round) {
        const uint64_t product0 = kMultiplier0 * counter[0];
        const uint64_t product1 = kMultiplier1 * counter[2];
        counter = {high(product1) ^ counter[1] ^ key[0], low(product1), high(product0) ^ counter[3] ^ key[1],
                   low(product0)};
        key = {key[0] + kWeyl0, key[1] + kWeyl1};
    }
    return counter;
}

std::array<uint32_t, 4> random_words(uint64_t seed, uint64_t stream, uint64_t position) {
    return philox4x32_10({low(position), high(position), low(stream), high(stream)}, {low(seed), high(seed)});
}

double uniform(uint64_t seed, uint64_t stream, uint64_t position) {
    const auto words = random_words(seed, stream, position);
    return unit_interval(words[0], words[1]);
}

double normal(uint64_t seed, uint64_t stream, uint64_t position) {
    const auto words = random_words(seed, stream, position);
    // 1 - u lies in (0, 1], so the logarithm is finite.
    const double radius = std::sqrt(-2.0 * std::log(1.0 - unit_interval(words[0], words[1])));
    return radius * std::cos(2.0 * std::numbers::pi * unit_interval(words[2], words[3]));
}

uint64_t uniform_below(uint64_t n, uint64_t seed, uint64_t stream, uint64_t position) {
    const auto words = random_words(seed, stream, position);
    const uint64_t bits = (static_cast<uint64_t>(words[0]) << 32U) | words[1];
    // The high half of bits · n (Lemire's multiplication), from 32-bit parts so that no 128-bit type is
    // needed.
    const uint64_t low_part = (bits & 0xFFFFFFFFU) * (n & 0xFFFFFFFFU);
    const uint64_t middle1 = (bits >> 32U) * (n & 0xFFFFFFFFU);
    const uint64_t middle2 = (bits & 0xFFFFFFFFU) * (n >> 32U);
    const uint64_t carry = ((low_part >> 32U) + (middle1 & 0xFFFFFFFFU) + (middle2 & 0xFFFFFFFFU)) >> 32U;
    return (bits >> 32U) * (n >> 32U) + (middle1 >> 32U) + (middle2 >> 32U) + carry;
}

}  // namespace meshscope
