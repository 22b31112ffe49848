#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "backends/tcp/connection_acceptor.h"
#include "backends/tcp/world_status.h"

namespace meshscope::backends::tcp {

/// A rank's second thread: lets its peers in, and then keeps one control link to each of them, apart from the
/// data, on which it beats, hears whether they still beat, and tells and hears of failures and of ends. So a
/// rank that computes is alive to the others, and an abort does not queue behind data.
class HeartbeatThread {
  public:
    struct Setup {
        int32_t rank = 0;
        int32_t world_size = 1;
        uint64_t generation = 0;
        std::string run_id;
        Token token;
        std::chrono::milliseconds heartbeat;
        Log log;
        /// The longest wait for a peer that lives: whoever is judged at its end has had time for some beats.
        std::chrono::milliseconds operation = heartbeat;
    };

    /// `world_status` must outlive it.
    HeartbeatThread(Setup setup, Fd listener, WorldStatus& world_status);
    ~HeartbeatThread();
    HeartbeatThread(const HeartbeatThread&) = delete;
    HeartbeatThread& operator=(const HeartbeatThread&) = delete;

    /// Takes a link that this side opened and that passed the handshake.
    void add(int32_t peer, LinkKind kind, Fd socket);
    /// Waits until both links to every peer are there, then listens no more. Gives the peers without both at
    /// `deadline`; returns early when the world has ended.
    std::vector<int32_t> await_peers(Deadline deadline);
    /// The data links, by rank; this rank's own place is not open.
    std::vector<Fd> take_data_links();

    /// For how long each peer has said nothing, by rank; 0 of this rank, and of those that have ended.
    std::vector<std::chrono::milliseconds> silences();

    /// Tells all peers that this rank has ended well, and returns when they all have, or the world has ended.
    void exchange_byes();
    /// Ends the thread. When the world has failed, the peers are told first and given a second to answer, so
    /// that no connection breaks before they have heard why.
    void close() noexcept;

  private:
    struct Link {
        Fd socket;
        FrameCutter cutter{kMostAbortBytes};
        Buffer output;
        Clock::time_point heard;
        /// Frames heard. Who called says one when it has our welcome on this link, and the next when it has
        /// both.
        int64_t words = 0;
        bool ended_well = false;    ///< said bye
        bool told_failure = false;  ///< said abort
        bool said_abort = false;    ///< we told it that the world has failed
        bool said_why = false;      ///< and why
        bool half_closed = false;   ///< we have said everything
        bool done = false;          ///< closed by the other side
    };

    void serve();
    Deadline next_deadline(Clock::time_point now) const;
    void hear(int32_t peer, Clock::time_point now);
    void on_frame(int32_t peer, const Frame& frame);
    void gone(int32_t peer);
    void speak(Clock::time_point now);
    void flush(int32_t peer);
    /// Takes out of all silences the time in which this process was itself not running.
    void leave_out_pause(Clock::time_point now);
    void judge_silence(Clock::time_point now);
    bool may_stop(Clock::time_point now);
    Refusal judge(const Hello& hello) const;
    void welcome(Fd socket, const Hello& hello);
    void add_locked(int32_t peer, LinkKind kind, Fd socket);
    Link& link(int32_t peer) { return links_[static_cast<std::size_t>(peer)]; }
    bool is_peer(int32_t rank) const { return rank >= 0 && rank < setup_.world_size && rank != setup_.rank; }
    /// Whether both links are there, and the peer knows it: who called says its first word on the control
    /// link when it has both. Until then it may have given up before our welcome came, and call again.
    bool is_here_locked(int32_t peer) const;
    std::vector<int32_t> missing_locked() const;
    bool all_ended_locked() const;

    Setup setup_;
    WorldStatus& world_status_;
    std::chrono::milliseconds beat_every_;

    std::mutex mutex_;  ///< over all below; never held while polling
    std::condition_variable changed_;
    std::unique_ptr<ConnectionAcceptor> acceptor_;
    std::vector<Link> links_;
    std::vector<Fd> data_;
    std::vector<bool> has_data_;
    Clock::time_point next_beat_;
    Clock::time_point looked_;  ///< when the files were polled last
    bool wants_bye_ = false;
    bool said_bye_ = false;
    std::optional<Deadline> close_by_;
    std::thread thread_;
};

}  // namespace meshscope::backends::tcp
