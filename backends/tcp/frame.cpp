#include "backends/tcp/frame.h"

#include <algorithm>

#include "core/base/crc32c.h"

namespace meshscope::backends::tcp {
namespace {

constexpr std::array<std::byte, 4> kMagic{std::byte{'M'}, std::byte{'S'}, std::byte{'H'}, std::byte{'W'}};
constexpr std::size_t kSummed = kHeaderBytes - 4;

template <class T>
void put(std::byte* to, T value) {
    for (std::size_t i = 0; i < sizeof(T); ++i) to[i] = static_cast<std::byte>(value >> (8 * i));
}

template <class T>
T take(const std::byte* from) {
    T value = 0;
    for (std::size_t i = 0; i < sizeof(T); ++i)
        value = static_cast<T>(value | static_cast<T>(std::to_integer<T>(from[i]) << (8 * i)));
    return value;
}

}  // namespace

const char* to_word(FrameFault fault) {
    switch (fault) {
        case FrameFault::none:
            return "none";
        case FrameFault::not_ours:
            return "not_ours";
        case FrameFault::old_version:
            return "other_version";
        case FrameFault::damaged:
            return "damaged";
        case FrameFault::unknown_type:
            return "unknown_type";
        case FrameFault::too_long:
            return "too_long";
    }
    return "?";
}

std::optional<std::size_t> longest_payload(uint8_t type) {
    switch (static_cast<FrameType>(type)) {
        case FrameType::hello:
        case FrameType::challenge:
        case FrameType::proof:
        case FrameType::welcome:
        case FrameType::refused:
            return kMostHandshakeBytes;
        case FrameType::message:
            return kMessageBytes;
        case FrameType::piece:
            return kMostFrameBytes;
        case FrameType::abort:
            return kMostAbortBytes;
        case FrameType::request:
        case FrameType::answer:
            return kMostStoreBytes;
        case FrameType::offer:
            return kOfferBytes;
        case FrameType::announce:
        case FrameType::ready:
        case FrameType::received:
        case FrameType::finished:
        case FrameType::calls_ended:
        case FrameType::beat:
        case FrameType::bye:
            return 0;
    }
    return std::nullopt;
}

uint32_t crc_of(ByteSpan bytes) {
    Crc32c crc;
    crc.add(bytes);
    return crc.value();
}

HeaderBytes encode(const FrameHeader& header) {
    HeaderBytes bytes{};
    std::copy(kMagic.begin(), kMagic.end(), bytes.begin());
    bytes[4] = std::byte{kProtocolVersion};
    bytes[5] = static_cast<std::byte>(header.type);
    put(&bytes[8], static_cast<uint32_t>(header.channel));
    put(&bytes[12], header.length);
    put(&bytes[16], header.sequence);
    put(&bytes[24], header.extra);
    put(&bytes[32], header.payload_crc);
    put(&bytes[kSummed], crc_of(std::span(bytes).first(kSummed)));
    return bytes;
}

FrameFault decode(std::span<const std::byte, kHeaderBytes> bytes, FrameHeader& header) {
    if (!std::equal(kMagic.begin(), kMagic.end(), bytes.begin())) return FrameFault::not_ours;
    // Before the sum: a later version may sum otherwise.
    if (bytes[4] != std::byte{kProtocolVersion}) return FrameFault::old_version;
    if (take<uint32_t>(&bytes[kSummed]) != crc_of(bytes.first(kSummed))) return FrameFault::damaged;
    const auto longest = longest_payload(std::to_integer<uint8_t>(bytes[5]));
    if (!longest || bytes[6] != std::byte{0} || bytes[7] != std::byte{0}) return FrameFault::unknown_type;
    header.type = static_cast<FrameType>(bytes[5]);
    header.channel = static_cast<int32_t>(take<uint32_t>(&bytes[8]));
    header.length = take<uint32_t>(&bytes[12]);
    header.sequence = take<uint64_t>(&bytes[16]);
    header.extra = take<uint64_t>(&bytes[24]);
    header.payload_crc = take<uint32_t>(&bytes[32]);
    return header.length > *longest ? FrameFault::too_long : FrameFault::none;
}

void append_frame(Buffer& out, FrameHeader header, ByteSpan payload) {
    header.length = static_cast<uint32_t>(payload.size());
    header.payload_crc = crc_of(payload);
    const HeaderBytes bytes = encode(header);
    out.insert(out.end(), bytes.begin(), bytes.end());
    out.insert(out.end(), payload.begin(), payload.end());
}

void FrameCutter::push(ByteSpan bytes) {
    if (fault_ != FrameFault::none) return;
    if (at_ > 0) {
        bytes_.erase(bytes_.begin(), bytes_.begin() + static_cast<std::ptrdiff_t>(at_));
        at_ = 0;
    }
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
}

std::optional<Frame> FrameCutter::next() {
    if (fault_ != FrameFault::none) return std::nullopt;
    const ByteSpan left = ByteSpan(bytes_).subspan(at_);
    // Another protocol shows in its first bytes; such a peer need not be waited for.
    const std::size_t n = std::min(left.size(), kMagic.size());
    if (!std::equal(left.begin(), left.begin() + static_cast<std::ptrdiff_t>(n), kMagic.begin()))
        fault_ = FrameFault::not_ours;
    if (fault_ != FrameFault::none || left.size() < kHeaderBytes) return std::nullopt;
    Frame frame;
    fault_ = decode(left.first<kHeaderBytes>(), frame.header);
    if (fault_ == FrameFault::none && frame.header.length > longest_) fault_ = FrameFault::too_long;
    if (fault_ != FrameFault::none || left.size() - kHeaderBytes < frame.header.length) return std::nullopt;
    const ByteSpan payload = left.subspan(kHeaderBytes, frame.header.length);
    if (crc_of(payload) != frame.header.payload_crc) {
        fault_ = FrameFault::damaged;
        return std::nullopt;
    }
    frame.payload.assign(payload.begin(), payload.end());
    at_ += kHeaderBytes + frame.header.length;
    return frame;
}

}  // namespace meshscope::backends::tcp
