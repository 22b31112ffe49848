#include "backends/tcp/connection_acceptor.h"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

namespace meshscope::backends::tcp {

ConnectionAcceptor::ConnectionAcceptor(Fd listener, std::size_t most, const Token& token, std::string run_id,
                                       ServerHandshake::Judge judge, Welcome welcome, Log log)
    : listener_(std::move(listener)),
      most_(most),
      token_(token),
      run_id_(std::move(run_id)),
      judge_(std::move(judge)),
      welcome_(std::move(welcome)),
      log_(std::move(log)) {}

void ConnectionAcceptor::watch(std::vector<pollfd>& files) const {
    // While it rests its place is kept: poll passes over what is no file.
    if (listener_.open()) files.push_back({rests_until_ ? -1 : listener_.get(), POLLIN, 0});
    for (const Stranger& stranger : strangers_) files.push_back({stranger.socket.get(), POLLIN, 0});
}

void ConnectionAcceptor::serve(std::span<const pollfd> files) {
    // The strangers first: accepting may send one away, and the order of `files` is theirs.
    std::size_t at = listener_.open() ? 1 : 0;
    for (Stranger& stranger : strangers_) {
        const bool has_bytes = at < files.size() && files[at++].revents != 0;
        if (has_bytes) hear(stranger);
        if (stranger.socket.open() && Clock::now() >= stranger.deadline)
            send_away(stranger, Refusal::too_slow);
    }
    if (rests_until_ && Clock::now() >= *rests_until_) rests_until_.reset();
    if (listener_.open() && !files.empty() && files[0].revents != 0) accept_all();
    strangers_.remove_if([](const Stranger& stranger) { return !stranger.socket.open(); });
}

void ConnectionAcceptor::accept_all() {
    // Bounded, so that a flood cannot keep the owner from its other work.
    for (std::size_t i = 0; i < kSpareStrangers; ++i) {
        int error = 0;
        Fd socket = accept_one(listener_, error);
        if (!socket.open()) return rest(error);
        strangers_.remove_if([](const Stranger& stranger) { return !stranger.socket.open(); });
        if (strangers_.size() == most_) {
            send_away(strangers_.front(), Refusal::crowded_out);
            strangers_.pop_front();
        }
        std::string address = peer_address(socket);
        const auto judge = [this](const Hello& hello) {
            return hello.run_id != run_id_ ? Refusal::run_id : judge_(hello);
        };
        strangers_.push_back({std::move(socket), std::move(address), Clock::now() + kHandshakeTime,
                              ServerHandshake(token_, random_bytes(), judge)});
    }
}

void ConnectionAcceptor::rest(int error) {
    // Whoever calls stays in the queue and the listener readable: without a rest its owner would spin.
    const bool is_short = error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM;
    if (!is_short) return;
    rests_until_ = Clock::now() + kRest;
    if (log_ && !std::exchange(told_of_rest_, true))
        log_({"tcp.cannot_accept",
              {{"address", Address{own_host(listener_), port_of(listener_)}.text()},
               {"reason", std::string(std::strerror(error))}}});
}

void ConnectionAcceptor::hear(Stranger& stranger) {
    std::array<std::byte, 2048> bytes{};
    const ssize_t n = ::recv(stranger.socket.get(), bytes.data(), bytes.size(), 0);
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)) return;
    if (n <= 0) return send_away(stranger, Refusal::closed);
    ServerHandshake& handshake = stranger.handshake;
    handshake.push(ByteSpan(bytes).first(static_cast<std::size_t>(n)));
    const Buffer output = handshake.take_output();
    // A fresh connection has room for a hundred bytes; one that has not is no client of ours.
    const bool sent = output.empty() || ::send(stranger.socket.get(), output.data(), output.size(),
                                               MSG_NOSIGNAL) == static_cast<ssize_t>(output.size());
    if (handshake.state() == ServerHandshake::State::refused) return send_away(stranger, handshake.refusal());
    if (!sent) return send_away(stranger, Refusal::closed);
    if (handshake.state() == ServerHandshake::State::accepted)
        welcome_(std::move(stranger.socket), handshake.hello());
}

void ConnectionAcceptor::send_away(Stranger& stranger, Refusal why) {
    if (log_)
        log_(
            {"tcp.stranger_refused", {{"address", stranger.address}, {"reason", std::string(to_word(why))}}});
    stranger.socket.close();
}

Deadline ConnectionAcceptor::next_deadline() const {
    return std::min(strangers_.empty() ? Deadline::max() : strangers_.front().deadline,
                    rests_until_.value_or(Deadline::max()));
}

void ConnectionAcceptor::close() {
    listener_.close();
    rests_until_.reset();
    strangers_.clear();
}

Refusal shake_hands(const Fd& socket, const Token& token, const Hello& hello, Deadline deadline) {
    ClientHandshake handshake(token, hello);
    const auto refusal_of = [&](Transfer end) {
        if (end == Transfer::late) return Refusal::too_slow;
        return handshake.proved() ? Refusal::unanswered : Refusal::closed;
    };
    while (handshake.state() == ClientHandshake::State::hearing) {
        const Buffer output = handshake.take_output();
        if (const Transfer end = write_all(socket, output, deadline); end != Transfer::done)
            return refusal_of(end);
        Frame frame;
        HeaderBytes header{};
        if (const Transfer end = read_exactly(socket, header, deadline); end != Transfer::done)
            return refusal_of(end);
        switch (decode(header, frame.header)) {
            case FrameFault::none:
                break;
            case FrameFault::old_version:
                return Refusal::other_version;
            case FrameFault::damaged:
                return Refusal::damaged;
            default:
                return Refusal::not_ours;
        }
        if (frame.header.length > kMostHandshakeBytes) return Refusal::too_long;
        frame.payload.resize(frame.header.length);
        if (const Transfer end = read_exactly(socket, frame.payload, deadline); end != Transfer::done)
            return refusal_of(end);
        if (crc_of(frame.payload) != frame.header.payload_crc) return Refusal::damaged;
        handshake.on_frame(frame);
    }
    return handshake.refusal();
}

}  // namespace meshscope::backends::tcp
