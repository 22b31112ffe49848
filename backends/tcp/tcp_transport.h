#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "backends/tcp/link.h"
#include "backends/tcp/options.h"
#include "backends/tcp/world_status.h"
#include "core/base/error.h"
#include "core/comm/transport.h"

namespace meshscope::backends::tcp {

/// A rank's transport over one TCP connection to each peer. All reading and writing of data happens inside
/// its calls, on the thread that makes them: no hand-over between threads lies in a message's way. See
/// comm::Transport for what each call does and throws. Beyond that every call may throw CommError:
/// "comm.peer_lost" {peer, rank}, "comm.peer_silent", "comm.peer_silent_receipt", "comm.peer_silent_idle"
/// (see WorldStatus), "comm.operation_timeout" {rank, missing, doing, waited_ms, channel, bytes}
/// and "comm.receipt_timeout", "comm.frame_damaged" {src, dst, fault} for a flipped bit.
class TcpTransport final : public comm::Transport, public comm::FaultActs, public comm::CallRounds {
  public:
    /// For how long each peer has given no sign of life, by rank.
    using Silences = std::function<std::vector<std::chrono::milliseconds>()>;

    /// `links`: connected sockets by rank. `world_status` must outlive it. `silences` is asked when a wait
    /// has lasted too long: who is silent then is to blame for it.
    TcpTransport(const TcpOptions& options, std::vector<Fd> links, WorldStatus& world_status,
                 Silences silences);
    ~TcpTransport() override;

    comm::Abilities abilities() override { return {.faults = this, .rounds = this}; }

    /// Cost: one system call; messages of up to 64 KiB are copied by it, longer ones when they are received:
    /// by the receiver, from this rank's memory, where both stand on one machine (TcpOptions::near_memory).
    Ticket post(GlobalRank dst, comm::Channel channel, Bytes data) override;
    /// Long messages go straight to their places, with no copy on the way.
    void receive_together(std::span<const comm::Expected> messages, comm::Channel channel,
                          const ConsumeTogether& consume) override;
    void wait(Ticket ticket) override;
    bool done(Ticket ticket) override;
    void withdraw() noexcept override;
    void give_up() noexcept override;
    void end_calls(comm::Channel first) override;
    /// Lets the peers, who wait for it, give up first: it is they who do not know.
    [[noreturn]] void stall() override;

    /// Tells the peers that nothing more comes from here, after all that did. At the end of a body that ended
    /// well.
    void finish();

  private:
    void note(comm::CallMoment moment, const comm::IssuedCall* call) override { calls_.note(moment, call); }
    /// Asks for the messages and waits for them.
    void await_messages(std::span<const comm::Expected> messages, comm::Channel channel);
    void hand_over(std::span<const comm::Expected> messages, comm::Channel channel,
                   const ConsumeTogether& consume);
    bool is_here(const comm::Expected& message, comm::Channel channel);
    void wait_until(const Awaiting& awaiting, const std::function<bool()>& ready);
    bool pump_all();
    bool pump_ready(int milliseconds);
    void sleep(Deadline until);
    void check(const Awaiting& awaiting);
    void check_link(Link& link, const Awaiting& awaiting);
    template <class Failure>
    [[noreturn]] void fail(const Failure& error);
    [[noreturn]] void throw_mismatch(int32_t src, int32_t dst, comm::Channel channel, int64_t sent,
                                     int64_t expected);
    [[noreturn]] void throw_finished(int32_t peer);
    [[noreturn]] void throw_late(const Awaiting& awaiting);
    /// Of the peers that have said nothing for half the longest wait the one that did so for longest, and
    /// for how long.
    std::optional<std::pair<GlobalRank, std::chrono::milliseconds>> silent_peer() const;
    /// What the world's end means here; of a peer that is gone or silent with what this rank was doing.
    [[noreturn]] void throw_end(const Awaiting& awaiting);
    Link* link(int32_t rank) { return links_[static_cast<std::size_t>(rank)].get(); }
    Outgoing& outgoing(Ticket ticket) { return outgoing_.at(static_cast<std::size_t>(ticket)); }
    void watch(Link& link);

    // Messages of this rank to itself: the bytes stay where they are.
    struct ToSelf {
        comm::Channel channel;
        std::size_t out = 0;
    };
    const ToSelf* next_to_self(comm::Channel channel) const;

    int32_t rank_;
    WorldStatus& world_status_;
    Silences silences_;
    comm::CallLog calls_;
    comm::LongWaits long_waits_;
    std::chrono::milliseconds operation_timeout_, heartbeat_timeout_;
    std::chrono::milliseconds look_every_;  ///< while it waits
    std::chrono::nanoseconds spin_;
    RoomPool rooms_;
    std::vector<std::unique_ptr<Link>> links_;  ///< by rank; none for this one
    std::vector<bool> watched_for_room_;
    std::vector<bool> watched_;
    Fd epoll_;
    std::deque<Outgoing> outgoing_;  ///< addresses stay
    std::vector<std::size_t> free_;
    std::deque<ToSelf> to_self_;
    int64_t rounds_ended_ = 0;  ///< see end_calls()
};

}  // namespace meshscope::backends::tcp
