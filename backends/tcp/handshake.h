#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "backends/tcp/bytes.h"
#include "backends/tcp/frame.h"
#include "backends/tcp/token.h"

namespace meshscope::backends::tcp {

/// What a connection is for.
enum class LinkKind : uint8_t { data = 0, control = 1, store = 2 };

/// How a client says who it is. All of it is bound into both proofs.
struct Hello {
    LinkKind kind = LinkKind::store;
    int32_t from = -1;  ///< rank; -1: none (a launcher)
    int32_t to = -1;
    int32_t world_size = 0;
    uint64_t generation = 0;  ///< attempt and run
    std::string run_id;
    Bytes32 nonce{};
};

inline constexpr std::size_t kMostRunIdBytes = 64;

/// Why a connection is not let in. Up to crowded_out a server tells its log alone; from run_id to full also
/// the client, which has proved by then that it knows the token. The last is what a client sees of the first
/// ones: the connection ended right after its proof, without a word.
enum class Refusal : uint8_t {
    none,
    not_ours,
    other_version,
    damaged,
    unexpected,
    too_long,
    wrong_token,
    too_slow,
    closed,
    crowded_out,
    run_id,
    world_size,
    rank,
    duplicate,
    generation,
    full,
    unanswered
};
/// "wrong_token", "duplicate", …: for logs and messages.
const char* to_word(Refusal refusal);

/// The server's half of the handshake, as a function of the bytes that come in: no socket, no clock.
///
/// client: hello {who, nonce} · server: challenge {nonce} · client: proof · server: welcome {proof}, or
/// refused {why}. A proof is the HMAC of a label, the hello and the challenge under the job's token; the
/// server's covers the client's proof, too. Nonces make every proof good for one connection; the labels keep
/// one side's proof from being played back as the other's.
class ServerHandshake {
  public:
    /// Says whether a client that knows the token may come in.
    using Judge = std::function<Refusal(const Hello&)>;
    enum class State : uint8_t { hearing, accepted, refused };

    ServerHandshake(const Token& token, const Bytes32& nonce, Judge judge);

    /// Takes bytes as they came. Does nothing once it is over.
    void push(ByteSpan bytes);
    /// What is to be sent now; empty afterwards.
    Buffer take_output();
    State state() const { return state_; }
    Refusal refusal() const { return refusal_; }
    /// Once accepted.
    const Hello& hello() const { return hello_; }

  private:
    void on_frame(const Frame& frame);
    void refuse(Refusal why);

    const Token& token_;
    Bytes32 nonce_;
    Judge judge_;
    FrameCutter cutter_{kMostHandshakeBytes};
    State state_ = State::hearing;
    Refusal refusal_ = Refusal::none;
    bool challenged_ = false;
    Buffer hello_bytes_;
    Hello hello_;
    Buffer output_;
};

/// The client's half.
class ClientHandshake {
  public:
    enum class State : uint8_t { hearing, accepted, refused };

    ClientHandshake(const Token& token, Hello hello);
    /// Takes the next frame that came.
    void on_frame(const Frame& frame);
    /// What is to be sent now; at first the hello.
    Buffer take_output();
    State state() const { return state_; }
    Refusal refusal() const { return refusal_; }
    /// Whether the proof was given.
    bool proved() const { return proved_; }

  private:
    void refuse(Refusal why);

    const Token& token_;
    Buffer hello_bytes_;
    Bytes32 proof_{};
    Bytes32 challenge_{};
    State state_ = State::hearing;
    Refusal refusal_ = Refusal::none;
    bool proved_ = false;
    Buffer output_;
};

/// The bytes of a hello, and back; nothing when they are none.
Buffer encode_hello(const Hello& hello);
std::optional<Hello> decode_hello(ByteSpan bytes);

}  // namespace meshscope::backends::tcp
