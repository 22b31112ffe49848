// What a stranger may send to a rank's port, and what an authenticated peer may send on a data link: any
// bytes. Nothing may crash, hang, or take more memory than the frames allow; and nobody gets in without the
// token.
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "backends/tcp/first_cause.h"
#include "backends/tcp/handshake.h"
#include "backends/tcp/stream_reader.h"
#include "tests/fuzz/target.h"

namespace {

using namespace meshscope::backends::tcp;

void require(bool holds) {
    if (!holds) std::abort();
}

/// Takes every payload that is not too long for a test.
class AnySink final : public FrameSink {
  public:
    std::byte* begin(const FrameHeader& header) override {
        if (header.length > sizeof room_) return nullptr;
        return room_;
    }
    void end(const FrameHeader& header) override {
        require(crc_of({room_, header.length}) == header.payload_crc);
    }

  private:
    std::byte room_[std::size_t{1} << 16];
};

/// The same bytes in one go, and cut where `step` says, must end the same way.
FrameFault read_stream(ByteSpan bytes, std::size_t step) {
    AnySink sink;
    StreamReader reader(sink);
    while (!bytes.empty() && reader.fault() == FrameFault::none) {
        std::span<std::byte> to = reader.direct();
        const bool direct = !to.empty();
        if (!direct) to = reader.staged(StreamReader::kStagedBytes);
        require(!to.empty());
        const std::size_t n = std::min({to.size(), bytes.size(), step});
        std::memcpy(to.data(), bytes.data(), n);
        direct ? reader.took_direct(n) : reader.took_staged(n);
        bytes = bytes.subspan(n);
    }
    return reader.fault();
}

/// With good sums over whatever is inside, so that the parts behind the sums are reached.
Buffer with_good_sums(ByteSpan bytes) {
    Buffer mended;
    while (bytes.size() > 2) {
        const auto type = static_cast<FrameType>(bytes[0]);
        const std::size_t n = std::min<std::size_t>(std::to_integer<std::size_t>(bytes[1]), bytes.size() - 2);
        append_frame(mended, {.type = type}, bytes.subspan(2, n));
        bytes = bytes.subspan(2 + n);
    }
    return mended;
}

void shake(const Token& token, ByteSpan bytes) {
    ServerHandshake server(token, Bytes32{}, [](const Hello&) { return Refusal::none; });
    server.push(bytes);
    require(server.state() != ServerHandshake::State::accepted);
    require(server.take_output().size() <= 2 * (kHeaderBytes + kMostHandshakeBytes));
    Hello hello;
    hello.run_id = "fuzz";
    ClientHandshake client(token, hello);
    client.take_output();
    FrameCutter cutter(kMostHandshakeBytes);
    cutter.push(bytes);
    while (const std::optional<Frame> frame = cutter.next()) client.on_frame(*frame);
    require(client.state() != ClientHandshake::State::accepted);
}

}  // namespace

FUZZ_TARGET(handshake) {
    const ByteSpan bytes = std::as_bytes(std::span(input));
    const Token token = Token::from_hex("00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff");
    const Buffer mended = with_good_sums(bytes);
    for (const ByteSpan one : {bytes, ByteSpan(mended)}) {
        shake(token, one);
        require(read_stream(one, 7) == read_stream(one, StreamReader::kStagedBytes));
    }
    if (const auto hello = decode_hello(bytes)) {
        const Buffer again = encode_hello(*hello);
        require(again.size() == bytes.size() && std::equal(again.begin(), again.end(), bytes.begin()));
    }
    if (const auto cause = decode_cause(bytes)) require(decode_cause(encode(*cause)).has_value());
}
