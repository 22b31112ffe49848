#include "backends/tcp/handshake.h"

#include <array>
#include <utility>

namespace meshscope::backends::tcp {
namespace {

Bytes32 proof_of(const Token& token, std::string_view side, ByteSpan hello, const Bytes32& challenge,
                 ByteSpan before) {
    const std::array<ByteSpan, 4> parts{bytes_of(side), hello, ByteSpan(challenge), before};
    return token.prove(parts);
}

constexpr std::string_view kClient = "meshscope tcp client 1";
constexpr std::string_view kServer = "meshscope tcp server 1";

Refusal refusal_of(FrameFault fault) {
    switch (fault) {
        case FrameFault::not_ours:
            return Refusal::not_ours;
        case FrameFault::old_version:
            return Refusal::other_version;
        case FrameFault::damaged:
            return Refusal::damaged;
        case FrameFault::too_long:
            return Refusal::too_long;
        case FrameFault::unknown_type:
            return Refusal::unexpected;
        case FrameFault::none:
            break;
    }
    return Refusal::none;
}

std::optional<Bytes32> decode_32(const Frame& frame) {
    ByteReader reader(frame.payload);
    const Bytes32 value = reader.raw32();
    return reader.ended() ? std::optional(value) : std::nullopt;
}

}  // namespace

const char* to_word(Refusal refusal) {
    switch (refusal) {
        case Refusal::none:
            return "none";
        case Refusal::not_ours:
            return "not_ours";
        case Refusal::other_version:
            return "other_version";
        case Refusal::damaged:
            return "damaged";
        case Refusal::unexpected:
            return "unexpected";
        case Refusal::too_long:
            return "too_long";
        case Refusal::wrong_token:
            return "wrong_token";
        case Refusal::too_slow:
            return "too_slow";
        case Refusal::closed:
            return "closed";
        case Refusal::crowded_out:
            return "crowded_out";
        case Refusal::run_id:
            return "run_id";
        case Refusal::world_size:
            return "world_size";
        case Refusal::rank:
            return "rank";
        case Refusal::duplicate:
            return "duplicate";
        case Refusal::generation:
            return "generation";
        case Refusal::full:
            return "full";
        case Refusal::unanswered:
            return "unanswered";
    }
    return "?";
}

Buffer encode_hello(const Hello& hello) {
    Buffer bytes;
    ByteWriter writer(bytes);
    writer.u8(static_cast<uint8_t>(hello.kind));
    writer.i32(hello.from);
    writer.i32(hello.to);
    writer.i32(hello.world_size);
    writer.u64(hello.generation);
    writer.text(hello.run_id);
    writer.raw(hello.nonce);
    return bytes;
}

std::optional<Hello> decode_hello(ByteSpan bytes) {
    ByteReader reader(bytes);
    Hello hello;
    const uint8_t kind = reader.u8();
    hello.kind = static_cast<LinkKind>(kind);
    hello.from = reader.i32();
    hello.to = reader.i32();
    hello.world_size = reader.i32();
    hello.generation = reader.u64();
    hello.run_id = reader.text(kMostRunIdBytes);
    hello.nonce = reader.raw32();
    if (!reader.ended() || kind > static_cast<uint8_t>(LinkKind::store)) return std::nullopt;
    return hello;
}

ServerHandshake::ServerHandshake(const Token& token, const Bytes32& nonce, Judge judge)
    : token_(token), nonce_(nonce), judge_(std::move(judge)) {}

void ServerHandshake::push(ByteSpan bytes) {
    if (state_ != State::hearing) return;
    cutter_.push(bytes);
    while (state_ == State::hearing) {
        const std::optional<Frame> frame = cutter_.next();
        if (!frame) break;
        on_frame(*frame);
    }
    if (state_ == State::hearing && cutter_.fault() != FrameFault::none) refuse(refusal_of(cutter_.fault()));
    // A client has nothing to say before it was welcomed.
    if (state_ == State::accepted && !cutter_.empty()) refuse(Refusal::unexpected);
}

void ServerHandshake::on_frame(const Frame& frame) {
    if (!challenged_) {
        const std::optional<Hello> hello =
            frame.header.type == FrameType::hello ? decode_hello(frame.payload) : std::nullopt;
        if (!hello) return refuse(Refusal::unexpected);
        hello_ = *hello;
        hello_bytes_ = frame.payload;
        challenged_ = true;
        append_frame(output_, {.type = FrameType::challenge}, nonce_);
        return;
    }
    const std::optional<Bytes32> proof =
        frame.header.type == FrameType::proof ? decode_32(frame) : std::nullopt;
    if (!proof) return refuse(Refusal::unexpected);
    if (!same_bytes(*proof, proof_of(token_, kClient, hello_bytes_, nonce_, {})))
        return refuse(Refusal::wrong_token);
    const Refusal judged = judge_(hello_);
    if (judged != Refusal::none) {
        const std::array<std::byte, 1> why{static_cast<std::byte>(judged)};
        append_frame(output_, {.type = FrameType::refused}, why);
        return refuse(judged);
    }
    append_frame(output_, {.type = FrameType::welcome},
                 proof_of(token_, kServer, hello_bytes_, nonce_, *proof));
    state_ = State::accepted;
}

void ServerHandshake::refuse(Refusal why) {
    state_ = State::refused;
    refusal_ = why;
}

Buffer ServerHandshake::take_output() {
    return std::exchange(output_, {});
}

ClientHandshake::ClientHandshake(const Token& token, Hello hello)
    : token_(token), hello_bytes_(encode_hello(hello)) {
    append_frame(output_, {.type = FrameType::hello}, hello_bytes_);
}

void ClientHandshake::on_frame(const Frame& frame) {
    if (state_ != State::hearing) return;
    if (frame.header.type == FrameType::refused && proved_) {
        const uint8_t why = frame.payload.size() == 1 ? std::to_integer<uint8_t>(frame.payload[0]) : 0;
        const bool known =
            why >= static_cast<uint8_t>(Refusal::run_id) && why <= static_cast<uint8_t>(Refusal::full);
        return refuse(known ? static_cast<Refusal>(why) : Refusal::unexpected);
    }
    const std::optional<Bytes32> bytes = decode_32(frame);
    if (!bytes) return refuse(Refusal::unexpected);
    if (!proved_) {
        if (frame.header.type != FrameType::challenge) return refuse(Refusal::unexpected);
        challenge_ = *bytes;
        proof_ = proof_of(token_, kClient, hello_bytes_, challenge_, {});
        proved_ = true;
        append_frame(output_, {.type = FrameType::proof}, proof_);
        return;
    }
    if (frame.header.type != FrameType::welcome) return refuse(Refusal::unexpected);
    if (!same_bytes(*bytes, proof_of(token_, kServer, hello_bytes_, challenge_, proof_)))
        return refuse(Refusal::wrong_token);
    state_ = State::accepted;
}

void ClientHandshake::refuse(Refusal why) {
    state_ = State::refused;
    refusal_ = why;
}

Buffer ClientHandshake::take_output() {
    return std::exchange(output_, {});
}

}  // namespace meshscope::backends::tcp
