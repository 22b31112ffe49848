#pragma once

#include <poll.h>

#include <cstdint>
#include <functional>
#include <list>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "backends/tcp/handshake.h"
#include "backends/tcp/options.h"
#include "backends/tcp/socket.h"

namespace meshscope::backends::tcp {

inline constexpr std::chrono::milliseconds kHandshakeTime{2'000};
/// Strangers heard at a time beyond those that are expected.
inline constexpr std::size_t kSpareStrangers = 16;
/// How long nobody is taken in after the system could not.
inline constexpr std::chrono::milliseconds kRest{100};

/// Listens, and lets in who passes the handshake. At most `most` are heard at a time, each for
/// kHandshakeTime and 1 KiB a frame; when one more comes, the one that has been there longest goes (an honest
/// one is through in a millisecond). Whoever is sent away leaves one line in the log,
/// "tcp.stranger_refused" {address, reason}.
///
/// When the system gives no descriptor for one who calls, it lets callers wait for kRest, and says so once:
/// "tcp.cannot_accept" {address, reason}. They stay in the system's queue meanwhile.
///
/// Has no thread: its owner polls watch()'s files and calls serve().
class ConnectionAcceptor {
  public:
    using Welcome = std::function<void(Fd, const Hello&)>;

    /// `judge` is asked about clients that know the token and have our run id; `welcome` takes those it
    /// accepts.
    ConnectionAcceptor(Fd listener, std::size_t most, const Token& token, std::string run_id,
                       ServerHandshake::Judge judge, Welcome welcome, Log log);

    /// Appends what must be polled.
    void watch(std::vector<pollfd>& files) const;
    /// `files`: what watch() appended, with poll's answers.
    void serve(std::span<const pollfd> files);
    /// When serve() must be called at the latest; Deadline::max() when it may wait for the files.
    Deadline next_deadline() const;
    /// Ends listening, and all that are still being heard.
    void close();

  private:
    struct Stranger {
        Fd socket;
        std::string address;
        Deadline deadline;
        ServerHandshake handshake;
    };

    void accept_all();
    void rest(int error);
    void hear(Stranger& stranger);
    void send_away(Stranger& stranger, Refusal why);

    Fd listener_;
    std::size_t most_;
    Token token_;
    std::string run_id_;
    ServerHandshake::Judge judge_;
    Welcome welcome_;
    Log log_;
    std::optional<Deadline> rests_until_;
    bool told_of_rest_ = false;
    std::list<Stranger> strangers_;  ///< oldest first; a closed socket is swept after serving
};

/// The client's side: shakes hands on a fresh connection. Refusal::none when both sides are sure of each
/// other; Refusal::closed, unanswered or too_slow when the other side did not answer.
Refusal shake_hands(const Fd& socket, const Token& token, const Hello& hello, Deadline deadline);

}  // namespace meshscope::backends::tcp
