#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "backends/tcp/bytes.h"

namespace meshscope::backends::tcp {

/// What a frame is. docs/tcp.md shows who sends which, when.
enum class FrameType : uint8_t {
    // the handshake, on every connection
    hello = 1,
    challenge = 2,
    proof = 3,
    welcome = 4,
    refused = 5,
    // data links
    message = 16,      ///< a whole message of at most kMessageBytes
    announce = 17,     ///< a longer one is there to be asked for; extra = its bytes
    ready = 18,        ///< the receiver waits for it; extra = the bytes it expects
    piece = 19,        ///< a part of it; extra = the offset
    received = 20,     ///< a `message` was consumed, an offered one was copied
    finished = 21,     ///< the sender's body has ended; nothing follows
    offer = 22,        ///< as announce, for a receiver on the same machine; the payload says where it lies
    calls_ended = 24,  ///< the sender makes no more calls; what follows is on channels from `extra` on
    // control links
    beat = 32,   ///< I am alive
    abort = 33,  ///< the world has failed; the payload says why
    bye = 34,    ///< my body has ended well
    // the store
    request = 48,
    answer = 49
};

inline constexpr std::size_t kHeaderBytes = 40;
inline constexpr uint8_t kProtocolVersion = 1;
/// The longest message that is sent without being asked for.
inline constexpr std::size_t kMessageBytes = std::size_t{64} << 10;
/// Whether a message is announced or offered, and sent when it is asked for.
inline bool is_long(int64_t bytes) {
    return bytes > static_cast<int64_t>(kMessageBytes);
}
/// The longest piece that we send or read at once. Measured on loopback: less costs more system calls, more
/// gains nothing.
inline constexpr std::size_t kMostPieceBytes = std::size_t{1} << 20;
/// The longest frame of any kind.
inline constexpr std::size_t kMostFrameBytes = std::size_t{64} << 20;
/// The longest payload before the other side has proved that it knows the token.
inline constexpr std::size_t kMostHandshakeBytes = 1024;
inline constexpr std::size_t kMostAbortBytes = std::size_t{16} << 10;
/// Of an offer, always.
inline constexpr std::size_t kOfferBytes = 28;
inline constexpr std::size_t kMostStoreBytes = std::size_t{4} << 20;

/// The 40 bytes before every payload, little-endian: magic "MSHW" (4), version (1), type (1), 0 (2), channel
/// (4), payload bytes (4), sequence (8), extra (8), CRC-32C of the payload (4), CRC-32C of the 36 bytes
/// before (4). Two sums, so that no flipped bit can pass for another length.
struct FrameHeader {
    FrameType type = FrameType::beat;
    int32_t channel = 0;
    uint32_t length = 0;
    uint64_t sequence = 0;
    uint64_t extra = 0;
    uint32_t payload_crc = 0;
};

using HeaderBytes = std::array<std::byte, kHeaderBytes>;

/// Why bytes are no frame.
enum class FrameFault : uint8_t {
    none,
    not_ours,     ///< another protocol
    old_version,  ///< ours, of another version
    damaged,      ///< a sum does not fit
    unknown_type,
    too_long
};
/// "not_ours", "damaged", …: for logs and messages.
const char* to_word(FrameFault fault);

/// The longest payload that frames of this type may have; nothing when there is no such type.
std::optional<std::size_t> longest_payload(uint8_t type);

uint32_t crc_of(ByteSpan bytes);

/// header.payload_crc must be set.
HeaderBytes encode(const FrameHeader& header);

/// Reads a header. Pure; looks at nothing but the 40 bytes.
FrameFault decode(std::span<const std::byte, kHeaderBytes> bytes, FrameHeader& header);

/// Appends a whole frame.
void append_frame(Buffer& out, FrameHeader header, ByteSpan payload = {});

/// A frame with its payload.
struct Frame {
    FrameHeader header;
    Buffer payload;
};

/// Cuts a stream of bytes into frames: for links whose frames are small. Holds no more than one frame.
class FrameCutter {
  public:
    /// Frames with more than `longest` bytes of payload are a fault.
    explicit FrameCutter(std::size_t longest) : longest_(longest) {}

    /// Takes bytes as they came. After a fault nothing more is taken.
    void push(ByteSpan bytes);
    /// The next whole frame. Nothing: more bytes are needed, or fault() says why there will be none.
    std::optional<Frame> next();
    FrameFault fault() const { return fault_; }
    /// Nothing waits here.
    bool empty() const { return bytes_.size() == at_; }

  private:
    std::size_t longest_;
    Buffer bytes_;
    std::size_t at_ = 0;
    FrameFault fault_ = FrameFault::none;
};

}  // namespace meshscope::backends::tcp
