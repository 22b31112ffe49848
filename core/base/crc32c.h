#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace meshscope {

/// CRC-32C (Castagnoli: polynomial 0x1EDC6F41, bits reflected, first and last complement), as iSCSI (RFC
/// 3720), ext4 and TFRecord use it. Its check value: crc32c of "123456789" is 0xE3069283. Finds every change
/// of up to three bits in 256 MB and any burst of up to 32 bits.
class Crc32c {
  public:
    /// Cost: some eight bytes a cycle where the processor has the instruction (SSE 4.2), else about a byte
    /// in a cycle and a half (eight table look-ups for eight bytes). The value is the same.
    void add(std::span<const std::byte> bytes);
    void add(const void* data, std::size_t size) {
        add(std::span(static_cast<const std::byte*>(data), size));
    }
    uint32_t value() const { return ~state_; }

  private:
    uint32_t state_ = 0xFFFFFFFFU;
};

/// A checksum as files keep it: eight hexadecimal digits.
std::string hex_digits(uint32_t checksum);

}  // namespace meshscope
