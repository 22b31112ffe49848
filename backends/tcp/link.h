#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "backends/tcp/offer.h"
#include "backends/tcp/room_pool.h"
#include "backends/tcp/socket.h"
#include "backends/tcp/stream_reader.h"
#include "core/comm/transport.h"

namespace meshscope::backends::tcp {

/// A message on its way out.
struct Outgoing {
    enum class State : uint8_t {
        unused,
        unconfirmed,  ///< short, sent or copied; the receiver has not said that it took it
        announced,    ///< long; the receiver has not asked for it
        sending,      ///< asked for
        done
    };
    State state = State::unused;
    int32_t dst = 0;
    comm::Channel channel;
    uint64_t sequence = 0;
    ByteSpan data;
    std::size_t sent = 0;
    OfferSlot slot;  ///< of its offer
};

/// A message on its way in.
struct Arrival {
    uint64_t sequence = 0;
    int64_t bytes = 0;
    std::size_t here = 0;  ///< bytes of it that have come
    bool asked = false;
    bool complete = false;
    std::optional<Offer> offer;  ///< it can be read where it lies
    RoomPool::Room room;         ///< none when it goes to the receiver's own memory
    std::byte* place = nullptr;  ///< where it goes
    ByteSpan data() const { return {place, static_cast<std::size_t>(bytes)}; }
};

/// The data link to one peer: what is queued to go out, what came in, and the non-blocking socket between.
/// pump() moves what can be moved; nothing here waits.
///
/// Messages of at most kMessageBytes are sent at once, and confirmed when they were consumed. Longer ones are
/// announced; the receiver asks for one when receive() wants it, even before the announcement, and it then
/// goes straight to its room in pieces. So nothing long is ever held for somebody who does not want it yet.
/// Where the peer is near, on this machine, they are offered instead: a receiver that wants one copies it
/// from the sender's memory, and asks for it on the socket only when the system does not let it.
class Link final : private FrameSink {
  public:
    /// `near`: both ends are on one machine; what is long is offered, and offers are taken.
    Link(Fd socket, int32_t peer, RoomPool& rooms, bool near = false);

    int32_t peer() const { return peer_; }
    const Fd& socket() const { return socket_; }

    void post(Outgoing& out);
    /// Takes back what does not go out yet. False: a piece of it is half-way in the socket.
    bool take_back(Outgoing& out);
    /// Writes on until no piece is half-way; for take_back.
    void flush_piece() { flush(); }
    /// Gives the connection up, half-way or not.
    void break_off() noexcept;
    /// Says that nothing more comes from here.
    void say_finished();
    /// Says that nothing more comes on channels before `first`.
    void say_calls_ended(comm::Channel first);

    /// Asks for the channel's next message when it is long and was not asked for. It goes to `place`; null:
    /// to a room of ours. Before that memory goes, the message was taken, or leave_place() called.
    void ask(comm::Channel channel, int64_t bytes, std::byte* place = nullptr);
    /// What was to go to a receiver's own memory goes to a room of ours from now on, the part that came too.
    void leave_place(comm::Channel channel);
    /// Whether the channel's next message is whole, or is known to have another size.
    bool has(comm::Channel channel, int64_t bytes);
    /// The size of the channel's next message; it is known when has() is true.
    int64_t size_of_next(comm::Channel channel);
    /// The channel's next message, which is whole.
    Arrival take(comm::Channel channel);
    /// Tells the sender that a message was consumed, and keeps its room for another.
    void release(comm::Channel channel, Arrival arrival);

    /// Reads and writes what the socket takes and has. Whether anything moved.
    bool pump();
    bool flush();
    bool wants_to_write() const { return in_piece_ || small_at_ < small_.size() || !sending_.empty(); }

    bool finished() const { return finished_; }  ///< the peer's body has ended
    /// Whether the peer takes nothing more on `channel` from a rank that has ended its own calls `rounds`
    /// times.
    bool takes_no_more(comm::Channel channel, int64_t rounds) const {
        return finished_ || (rounds_ended_ > rounds && channel.is_before(first_after_calls_));
    }
    /// Whether nothing more comes on it either: nor is on its way, having been announced.
    bool gives_no_more(comm::Channel channel, int64_t rounds) {
        return finished_ || (takes_no_more(channel, rounds) && inbox(channel).arrivals.empty());
    }
    bool closed() const { return closed_; }  ///< the connection has
    FrameFault fault() const { return reader_.fault(); }
    /// The receiver asked for another size than was posted.
    struct Mismatch {
        const Outgoing* out = nullptr;
        int64_t expected = 0;
    };
    const std::optional<Mismatch>& mismatch() const { return mismatch_; }

  private:
    struct Inbox {
        comm::Channel channel;
        uint64_t next = 0;  ///< sequence number of the next message to arrive
        uint64_t next_taken = 0;
        int64_t asked_ahead = -1;  ///< bytes of the message asked for before it was announced
        bool said_ahead = false;   ///< the peer was told so
        std::byte* place_ahead = nullptr;
        std::deque<Arrival> arrivals;
    };
    struct Asked {
        comm::Channel channel;
        uint64_t sequence = 0;
        int64_t bytes = 0;
    };
    struct Outbox {
        comm::Channel channel;
        uint64_t next = 0;
    };

    std::byte* begin(const FrameHeader& header) override;
    void end(const FrameHeader& header) override;
    void give_place(Arrival& arrival, std::byte* place);
    /// Whether an announcement is of the channel's next message, and of a size that is announced.
    bool is_next_long(const FrameHeader& header);
    std::byte* begin_message(const FrameHeader& header);
    std::byte* begin_piece(const FrameHeader& header);
    void on_announce(const FrameHeader& header, std::optional<Offer> offer);
    void say_ready(comm::Channel channel, uint64_t sequence, int64_t bytes);
    /// Brings a wanted message: from the peer's memory, or by asking for it.
    void fetch(comm::Channel channel, Arrival& arrival, std::byte* place);
    void on_ready(const FrameHeader& header);
    void on_received(const FrameHeader& header);
    void start_sending(Outgoing& out, int64_t expected);
    bool next_piece();
    bool read();
    Inbox& inbox(comm::Channel channel);
    uint64_t& next_out(comm::Channel channel);
    Outgoing* find(const FrameHeader& header);
    void drop(const Outgoing& out);

    Fd socket_;
    int32_t peer_;
    RoomPool& rooms_;
    bool near_;  ///< until an offer cannot be read
    StreamReader reader_;
    std::deque<Inbox> inboxes_;  ///< a handful of channels
    std::vector<Outbox> outboxes_;
    bool awaits_long_ = false;

    std::deque<Outgoing*> open_;     ///< posted and neither done nor taken back, oldest first
    std::deque<Outgoing*> sending_;  ///< of those, the ones asked for; the front goes out
    std::vector<Asked> asked_;       ///< by the peer, before we posted
    Buffer small_;                   ///< frames and rests of frames that go before the next piece
    std::size_t small_at_ = 0;
    bool in_piece_ = false;  ///< piece_ is next; begun when piece_header_at_ > 0
    HeaderBytes piece_header_{};
    std::size_t piece_header_at_ = 0;
    ByteSpan piece_;

    bool finished_ = false;
    int64_t rounds_ended_ = 0;         ///< how often the peer ended its calls
    comm::Channel first_after_calls_;  ///< as it said the last time
    bool closed_ = false;
    std::byte nothing_{};
    std::array<std::byte, kOfferBytes> offer_bytes_{};
    std::optional<Mismatch> mismatch_;
};

}  // namespace meshscope::backends::tcp
