#include "core/base/crc32c.h"

#include <array>

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

}  // namespace

void Crc32c::add(std::span<const std::byte> bytes) {
    uint32_t crc = state_;
    std::size_t i = 0;
    const auto at = [&](std::size_t k) { return std::to_integer<uint32_t>(bytes[i + k]); };
    for (; bytes.size() - i >= 8; i += 8) {
        crc ^= at(0) | at(1) << 8 | at(2) << 16 | at(3) << 24;
        crc = kTables[7][crc & 0xFFU] ^ kTables[6][(crc >> 8) & 0xFFU] ^ kTables[5][(crc >> 16) & 0xFFU] ^
              kTables[4][crc >> 24] ^ kTables[3][at(4)] ^ kTables[2][at(5)] ^ kTables[1][at(6)] ^
              kTables[0][at(7)];
    }
    for (; i < bytes.size(); ++i) crc = (crc >> 8) ^ kTables[0][(crc ^ at(0)) & 0xFFU];
    state_ = crc;
}

}  // namespace meshscope
