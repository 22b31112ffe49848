#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backends/tcp/token.h"

namespace meshscope::backends::tcp {

using Buffer = std::vector<std::byte>;
using ByteSpan = std::span<const std::byte>;

/// Text as bytes.
inline ByteSpan bytes_of(std::string_view text) {
    return std::as_bytes(std::span(text.data(), text.size()));
}

/// Appends numbers (little-endian), texts (u32 length, then the bytes) and raw bytes to a buffer.
class ByteWriter {
  public:
    explicit ByteWriter(Buffer& out) : out_(out) {}
    void u8(uint8_t value) { out_.push_back(std::byte{value}); }
    void u32(uint32_t value) { number(value, 4); }
    void u64(uint64_t value) { number(value, 8); }
    void i32(int32_t value) { u32(static_cast<uint32_t>(value)); }
    void i64(int64_t value) { u64(static_cast<uint64_t>(value)); }
    void raw(ByteSpan bytes) { out_.insert(out_.end(), bytes.begin(), bytes.end()); }
    void text(std::string_view value) {
        u32(static_cast<uint32_t>(value.size()));
        raw(bytes_of(value));
    }

  private:
    void number(uint64_t value, int n) {
        for (int i = 0; i < n; ++i) u8(static_cast<uint8_t>(value >> (8 * i)));
    }
    Buffer& out_;
};

/// Reads what ByteWriter wrote, from bytes that nobody vouches for. Reading past the end, or a text longer
/// than its limit, gives zeros and "" and makes ok() false from then on; nothing is allocated for it.
class ByteReader {
  public:
    explicit ByteReader(ByteSpan bytes) : bytes_(bytes) {}
    uint8_t u8() { return static_cast<uint8_t>(number(1)); }
    uint32_t u32() { return static_cast<uint32_t>(number(4)); }
    uint64_t u64() { return number(8); }
    int32_t i32() { return static_cast<int32_t>(u32()); }
    int64_t i64() { return static_cast<int64_t>(u64()); }
    std::string text(std::size_t longest) {
        const std::size_t n = u32();
        if (n > longest || !take(n)) {
            ok_ = false;
            return {};
        }
        const ByteSpan part = bytes_.subspan(at_ - n, n);
        return {reinterpret_cast<const char*>(part.data()), part.size()};
    }
    Bytes32 raw32() {
        Bytes32 value{};
        if (take(value.size())) std::copy_n(bytes_.begin() + signed_at() - 32, 32, value.begin());
        return value;
    }
    bool ok() const { return ok_; }
    /// Everything was read, and nothing is left.
    bool ended() const { return ok_ && at_ == bytes_.size(); }

  private:
    std::ptrdiff_t signed_at() const { return static_cast<std::ptrdiff_t>(at_); }
    bool take(std::size_t n) {
        if (!ok_ || bytes_.size() - at_ < n) return ok_ = false;
        at_ += n;
        return true;
    }
    uint64_t number(std::size_t n) {
        if (!take(n)) return 0;
        uint64_t value = 0;
        for (std::size_t i = 0; i < n; ++i)
            value |= std::to_integer<uint64_t>(bytes_[at_ - n + i]) << (8 * i);
        return value;
    }

    ByteSpan bytes_;
    std::size_t at_ = 0;
    bool ok_ = true;
};

}  // namespace meshscope::backends::tcp
