#include "core/base/crc32c.h"

#include <array>
#include <cstring>
#include <string_view>

namespace meshscope {
namespace {

constexpr uint32_t kReflectedPolynomial = 0x82F63B78U;
using Tables = std::array<std::array<uint32_t, 256>, 8>;

/// tables[k][b]: what byte b does to the sum when k more bytes follow it (Kounavis and Berry, "slicing by
/// 8").
constexpr Tables make_tables() {
    Tables tables{};
    for (uint32_t b = 0; b < 256; ++b) {
        uint32_t crc = b;
        for (int bit = 0; bit < 8; ++bit)
            crc = (crc & 1U) != 0 ? (crc >> 1) ^ kReflectedPolynomial : crc >> 1;
        tables[0][b] = crc;
    }
    for (std::size_t k = 1; k < 8; ++k)
        for (std::size_t b = 0; b < 256; ++b)
            tables[k][b] = (tables[k - 1][b] >> 8) ^ tables[0][tables[k - 1][b] & 0xFFU];
    return tables;
}

constexpr Tables kTables = make_tables();

uint32_t add_by_tables(uint32_t crc, const std::byte* bytes, std::size_t n) {
    const auto at = [&](std::size_t k) { return std::to_integer<uint32_t>(bytes[k]); };
    for (; n >= 8; bytes += 8, n -= 8) {
        crc ^= at(0) | at(1) << 8 | at(2) << 16 | at(3) << 24;
        crc = kTables[7][crc & 0xFFU] ^ kTables[6][(crc >> 8) & 0xFFU] ^ kTables[5][(crc >> 16) & 0xFFU] ^
              kTables[4][crc >> 24] ^ kTables[3][at(4)] ^ kTables[2][at(5)] ^ kTables[1][at(6)] ^
              kTables[0][at(7)];
    }
    for (; n > 0; ++bytes, --n) crc = (crc >> 8) ^ kTables[0][(crc ^ at(0)) & 0xFFU];
    return crc;
}

#if defined(__x86_64__)

/// What `zeros` zero bytes after it do to a sum: a linear map over bits, as four tables of a byte each.
using Shift = std::array<std::array<uint32_t, 256>, 4>;
using Matrix = std::array<uint32_t, 32>;  ///< column b: what bit b becomes

constexpr uint32_t times(const Matrix& matrix, uint32_t bits) {
    uint32_t sum = 0;
    for (std::size_t b = 0; bits != 0; ++b, bits >>= 1)
        if ((bits & 1U) != 0) sum ^= matrix[b];
    return sum;
}

constexpr Shift make_shift(std::size_t zeros) {
    Matrix power{};  // one zero bit, then squared: two, four, …
    power[0] = kReflectedPolynomial;
    for (std::size_t b = 1; b < 32; ++b) power[b] = 1U << (b - 1);
    Matrix whole{};
    for (std::size_t b = 0; b < 32; ++b) whole[b] = 1U << b;
    for (std::size_t bits = zeros * 8; bits != 0; bits >>= 1) {
        if ((bits & 1U) != 0)
            for (uint32_t& column : whole) column = times(power, column);
        Matrix square{};
        for (std::size_t b = 0; b < 32; ++b) square[b] = times(power, power[b]);
        power = square;
    }
    Shift shift{};
    for (std::size_t k = 0; k < 4; ++k)
        for (uint32_t byte = 0; byte < 256; ++byte) shift[k][byte] = times(whole, byte << (8 * k));
    return shift;
}

constexpr std::size_t kLane = 2048;
constexpr Shift kPastLane = make_shift(kLane);

uint32_t past_lane(uint32_t crc) {
    return kPastLane[0][crc & 0xFFU] ^ kPastLane[1][(crc >> 8) & 0xFFU] ^ kPastLane[2][(crc >> 16) & 0xFFU] ^
           kPastLane[3][crc >> 24];
}

/// The processor's own instruction. It takes three cycles but a new one can begin in each, so three lanes run
/// side by side and are joined at their ends (Gopal et al., "Fast CRC computation for iSCSI polynomial using
/// CRC32 instruction", 2011).
__attribute__((target("sse4.2"))) uint32_t add_by_instruction(uint32_t crc, const std::byte* bytes,
                                                              std::size_t n) {
    const auto word = [](const std::byte* from) {
        uint64_t value = 0;
        std::memcpy(&value, from, sizeof value);
        return value;
    };
    uint64_t first = crc;
    for (; n >= 3 * kLane; bytes += 3 * kLane, n -= 3 * kLane) {
        uint64_t second = 0, third = 0;
        for (std::size_t i = 0; i < kLane; i += 8) {
            first = __builtin_ia32_crc32di(first, word(bytes + i));
            second = __builtin_ia32_crc32di(second, word(bytes + kLane + i));
            third = __builtin_ia32_crc32di(third, word(bytes + 2 * kLane + i));
        }
        const uint32_t joined = past_lane(static_cast<uint32_t>(first)) ^ static_cast<uint32_t>(second);
        first = past_lane(joined) ^ static_cast<uint32_t>(third);
    }
    for (; n >= 8; bytes += 8, n -= 8) first = __builtin_ia32_crc32di(first, word(bytes));
    auto sum = static_cast<uint32_t>(first);
    for (; n > 0; ++bytes, --n) sum = __builtin_ia32_crc32qi(sum, std::to_integer<uint8_t>(*bytes));
    return sum;
}

uint32_t sum_of(uint32_t crc, const std::byte* bytes, std::size_t n) {
    static const bool has_instruction = __builtin_cpu_supports("sse4.2") != 0;
    return has_instruction ? add_by_instruction(crc, bytes, n) : add_by_tables(crc, bytes, n);
}

#else

uint32_t sum_of(uint32_t crc, const std::byte* bytes, std::size_t n) {
    return add_by_tables(crc, bytes, n);
}

#endif

}  // namespace

void Crc32c::add(std::span<const std::byte> bytes) {
    state_ = sum_of(state_, bytes.data(), bytes.size());
}

std::string hex_digits(uint32_t checksum) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    std::string text;
    for (int shift = 28; shift >= 0; shift -= 4) text += kDigits[checksum >> shift & 15U];
    return text;
}

}  // namespace meshscope
