#include "backends/tcp/frame.h"

#include <cstring>

#include "backends/tcp/first_cause.h"
#include "backends/tcp/stream_reader.h"
#include "core/base/error.h"
#include "tests/test.h"

using namespace meshscope;
using namespace meshscope::backends::tcp;

namespace {

Buffer some_bytes(std::size_t n, uint32_t seed = 1) {
    Buffer bytes;
    for (std::size_t i = 0; i < n; ++i)
        bytes.push_back(static_cast<std::byte>((seed = seed * 1'664'525U + 1'013'904'223U) >> 24U));
    return bytes;
}

/// Keeps what came, as one rank would.
class Kept final : public FrameSink {
  public:
    std::byte* begin(const FrameHeader& header) override {
        frames.push_back({header, Buffer(header.length + 1)});
        return frames.back().payload.data();
    }
    void end(const FrameHeader& header) override {
        frames.back().payload.resize(header.length);
        ++ended;
    }
    std::vector<Frame> frames;
    std::size_t ended = 0;
};

/// Reads `bytes` in steps of `step`.
FrameFault read_all(Kept& kept, ByteSpan bytes, std::size_t step) {
    StreamReader reader(kept);
    while (!bytes.empty() && reader.fault() == FrameFault::none) {
        std::span<std::byte> to = reader.direct();
        const bool direct = !to.empty();
        if (!direct) to = reader.staged(StreamReader::kStagedBytes);
        const std::size_t n = std::min({to.size(), bytes.size(), step});
        std::memcpy(to.data(), bytes.data(), n);
        direct ? reader.took_direct(n) : reader.took_staged(n);
        bytes = bytes.subspan(n);
    }
    return reader.fault();
}

}  // namespace

TEST_CASE("a frame's header comes back as it was") {
    FrameHeader header{FrameType::piece, -7, 123, 0x1122334455667788U, 99, 0xCAFEU};
    FrameHeader back;
    CHECK(decode(encode(header), back) == FrameFault::none);
    CHECK(back.type == FrameType::piece);
    CHECK(back.channel == -7);
    CHECK(back.length == 123);
    CHECK(back.sequence == 0x1122334455667788U);
    CHECK(back.extra == 99);
    CHECK(back.payload_crc == 0xCAFEU);
}

TEST_CASE("every single flipped bit of a frame is seen") {
    Buffer bytes;
    append_frame(bytes, {.type = FrameType::message, .channel = 3, .sequence = 5}, some_bytes(100));
    for (std::size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
        Buffer flipped = bytes;
        flipped[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
        FrameCutter cutter(kMessageBytes);
        cutter.push(flipped);
        INFO(bit);
        CHECK_FALSE(cutter.next().has_value());
        CHECK(cutter.fault() != FrameFault::none);
        Kept kept;
        CHECK(read_all(kept, flipped, 1000) != FrameFault::none);
        CHECK(kept.ended == 0);
    }
}

TEST_CASE("frames longer than their kind may be are refused by their header alone") {
    FrameHeader header{FrameType::piece, 0, static_cast<uint32_t>(kMostFrameBytes) + 1, 0, 0, 0};
    FrameHeader back;
    CHECK(decode(encode(header), back) == FrameFault::too_long);
    header.length = 0xFFFFFFFFU;
    CHECK(decode(encode(header), back) == FrameFault::too_long);
    header = {FrameType::hello, 0, static_cast<uint32_t>(kMostHandshakeBytes) + 1, 0, 0, 0};
    CHECK(decode(encode(header), back) == FrameFault::too_long);
    header = {FrameType::beat, 0, 1, 0, 0, 0};
    CHECK(decode(encode(header), back) == FrameFault::too_long);
    header = {static_cast<FrameType>(77), 0, 0, 0, 0, 0};
    CHECK(decode(encode(header), back) == FrameFault::unknown_type);
}

TEST_CASE("another protocol and another version are told apart") {
    FrameHeader back;
    HeaderBytes bytes = encode({.type = FrameType::hello});
    bytes[4] = std::byte{9};
    CHECK(decode(bytes, back) == FrameFault::old_version);
    FrameCutter cutter(100);
    cutter.push(bytes_of("GE"));
    CHECK_FALSE(cutter.next().has_value());
    CHECK(cutter.fault() == FrameFault::not_ours);  // two bytes are enough to know
}

TEST_CASE("a stream is cut into the same frames however its bytes come") {
    Buffer bytes;
    const std::vector<std::size_t> sizes{0, 1, 39, 40, 41, 5'000, kMessageBytes, 3};
    for (std::size_t i = 0; i < sizes.size(); ++i)
        append_frame(bytes, {.type = FrameType::message, .sequence = i},
                     some_bytes(sizes[i], static_cast<uint32_t>(i)));
    for (const std::size_t step : {std::size_t{1}, std::size_t{7}, std::size_t{4096}, bytes.size()}) {
        Kept kept;
        REQUIRE(read_all(kept, bytes, step) == FrameFault::none);
        REQUIRE(kept.ended == sizes.size());
        FrameCutter cutter(kMessageBytes);
        for (std::size_t at = 0; at < bytes.size(); at += step) {
            cutter.push(ByteSpan(bytes).subspan(at, std::min(step, bytes.size() - at)));
            if (step < 7) break;  // quadratic
            while (const auto frame = cutter.next())
                CHECK((frame->payload == kept.frames[frame->header.sequence].payload));
        }
        for (std::size_t i = 0; i < sizes.size(); ++i)
            CHECK((kept.frames[i].payload == some_bytes(sizes[i], static_cast<uint32_t>(i))));
    }
}

TEST_CASE("a first cause travels with its id and typed arguments") {
    const FirstCause cause{
        3,
        {"comm.x",
         {{"n", int64_t{-5}}, {"x", 0.25}, {"s", std::string("a b")}, {"l", std::vector<int64_t>{1, 2}}}}};
    const auto back = decode_cause(encode(cause));
    REQUIRE(back);
    CHECK(back->rank == 3);
    CHECK(describe(back->message) == "comm.x(n=-5, x=0.25, s=a b, l=[1, 2])");
    CHECK_FALSE(decode_cause(encode(FirstCause{2, {}}))->known());
}

TEST_CASE("a cause that is too long to send is cut, not lost") {
    const FirstCause cause{1, {"comm.x", {{"n", int64_t{7}}, {"s", std::string(100'000, 'a')}}}};
    const Buffer bytes = encode(cause);
    CHECK(bytes.size() <= kMostAbortBytes);
    const auto back = decode_cause(bytes);
    REQUIRE(back);
    CHECK(describe(back->message).starts_with("comm.x(n=7, s=aaaa"));
}
