#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>
#include <string>
#include <vector>

#include "backends/tcp/first_cause.h"
#include "backends/tcp/socket.h"

namespace meshscope::backends::tcp {

/// What a rank is waiting for, to be told when the wait ends badly.
struct Awaiting {
    enum class What : uint8_t { nothing, message, receipt } what = What::nothing;
    std::vector<int64_t> ranks;  ///< those that have not done their part
    int32_t channel = 0;
    int64_t bytes = 0;
};

/// What is said of a peer that has given no sign of life for `silence`: "comm.peer_silent",
/// "comm.peer_silent_receipt" {peer, silent_ms, rank, awaited, channel, bytes} by what this rank waited for
/// meanwhile, "comm.peer_silent_idle" {peer, silent_ms, rank}.
Message silence_of(int32_t peer, std::chrono::milliseconds silence, int32_t rank, const Awaiting& awaiting);

/// Whether this rank's world goes on, and if not, why: the first thing that ended it stays. Shared by the
/// rank's thread, which learns of it in its next or present transport call, and by HeartbeatThread, which
/// hears from the peers and tells them.
class WorldStatus {
  public:
    enum class Origin : uint8_t {
        none,
        own,   ///< this rank failed
        told,  ///< a peer said that a rank failed
        seen   ///< a peer is gone or silent
    };

    explicit WorldStatus(int32_t rank);

    bool ended() const { return ended_.load(std::memory_order_acquire); }
    /// Become readable when the world ends; one for each thread that sleeps in poll.
    const Fd& rank_event() const { return rank_event_; }
    const Fd& heartbeat_event() const { return heartbeat_event_; }

    /// This rank fails with `error`; null when it is known later. Also fills in what a fail(null) left open.
    void fail(std::exception_ptr error) noexcept;
    /// A peer says so.
    void told(FirstCause cause);
    /// The connection to `peer` broke while it was needed.
    void lost(int32_t peer);
    /// `peer` has said nothing for so long.
    void silent(int32_t peer, std::chrono::milliseconds silence);

    /// Waits for the why of a failure that was told without: a rank that fails says so before it can say why,
    /// and to a peer that leaves at once it says nothing more. A fifth of a second at most, and no time when
    /// nothing was told. Not for the thread that hears.
    void hear_out() const;

    Origin origin() const;
    FirstCause cause() const;
    /// Of an own failure, what was given to fail().
    std::exception_ptr own_error() const;

    /// Throws what the end means for this rank: its own error again; "comm.size_mismatch" when it is one of
    /// the two; "comm.peer_lost" or "comm.peer_silent" for a peer that is gone, with what this rank awaited;
    /// else "comm.aborted", secondary; "comm.aborted_unknown" when the rank that failed never said why.
    [[noreturn]] void throw_meaning(const Awaiting& awaiting = {}) const;

  private:
    void end_locked(Origin origin, FirstCause cause);

    int32_t rank_;
    Fd rank_event_ = make_event();
    Fd heartbeat_event_ = make_event();
    std::atomic<bool> ended_{false};
    mutable std::mutex mutex_;
    mutable std::condition_variable says_more_;  ///< of what was told
    Origin origin_ = Origin::none;
    FirstCause cause_;
    std::exception_ptr own_error_;
};

}  // namespace meshscope::backends::tcp
