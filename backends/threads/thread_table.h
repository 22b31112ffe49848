#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "backends/threads/thread_world_state.h"
#include "core/comm/shared_table.h"
#include "core/comm/transport.h"

namespace meshscope::backends::threads {

class ThreadTransport;

/// One member's offer for one meeting: the flag that the others wait for and what it announces, in one cache
/// line, so that seeing the flag is having the offer.
struct alignas(64) Slot {
    static constexpr int64_t kWithdrawn = -1;

    std::atomic<int64_t> meeting{0};  ///< whose offer this is; written last
    comm::Offer offer;
    std::byte* data = nullptr;  ///< the room by value: kByValueBytes, and the parts before it
};
static_assert(sizeof(Slot) == 64);

/// A member's place. Written by its owner only; each line is polled by others at another moment, so each has
/// a line of its own.
struct Place {
    /// Meetings that a member may be ahead by value: nobody comes to a meeting before all have left the one
    /// kSlots before it.
    static constexpr int64_t kSlots = 4;

    explicit Place(std::size_t members);
    Slot& slot(int64_t meeting) { return slots[static_cast<std::size_t>(meeting % kSlots)]; }

    Slot slots[kSlots];
    /// 2m while the owner is at the others' buffers in meeting m, 2m + 1 from when it has left it.
    alignas(64) std::atomic<int64_t> stage{1};
    comm::TableSpan span;              ///< of the latest leave(span) by reference; written before `stage`
    alignas(64) int64_t meetings = 0;  ///< the owner's own count
    std::vector<int64_t> finished;     ///< the owner's: by member, the latest meeting known to be behind it
    std::unique_ptr<std::byte[]> memory;  ///< the slots' data
};

/// The places of one group. Found by channel and members; groups without a common member may share a channel.
struct Room {
    comm::Channel channel;
    std::vector<GlobalRank> ranks;
    std::vector<std::unique_ptr<Place>> places;
};

/// The rooms of a run. They live as long as the world, so nobody's pointer into one dangles.
class Rooms {
  public:
    /// The room of these members, made by whoever asks first. Cost: a lock and a search; asked once a group.
    Room& find(comm::Channel channel, std::span<const GlobalRank> ranks);

  private:
    std::mutex mutex_;
    std::vector<std::unique_ptr<Room>> rooms_;
};

/// A rank's slot in a room. See comm::SharedTable for what each call does and throws.
///
/// A signal is a store, a fence, and a look whether somebody sleeps for it; who sleeps says so first and then
/// looks at the signal, so one of the two sees the other: the protocol of ThreadWorldState, on which its
/// exact deadlock detection rests. (A fence, not a stronger store: that would take the line back from those
/// who read it.) Likewise enter() and withdraw(): one says "I am at the buffers" and then looks whether they
/// were taken back, the other takes them back and then looks who is at them.
class ThreadTable final : public comm::SharedTable {
  public:
    /// `me` is the rank's place among the room's members.
    ThreadTable(ThreadTransport& transport, ThreadWorldState& world, Room& room, int32_t me);

    const Room& room() const { return room_; }

    int64_t by_value_bytes(CollectiveOp op) const override;
    comm::Offer& begin() override;
    void arrive_by_value(int64_t own_begin, int64_t own_end) override;
    void arrive() override;
    const comm::Offer& await(int32_t member) override;
    void enter() override;
    void leave() override;
    void leave(comm::TableSpan span) override;
    void await_left(int32_t member) override;
    comm::TableSpan span_of(int32_t member) const override;
    void close() override;
    void withdraw() noexcept override;

  private:
    void abort(const CommError& error) override;
    Place& place(int32_t member) const { return *room_.places[static_cast<std::size_t>(member)]; }
    int32_t global(int32_t member) const { return room_.ranks[static_cast<std::size_t>(member)].value; }
    int32_t size() const { return static_cast<int32_t>(room_.ranks.size()); }
    void await_arrival(int32_t member, const Slot& slot);
    void await_left(int32_t member, int64_t meeting);
    int64_t awaited(int32_t member) const { return awaited_[static_cast<std::size_t>(member)]; }
    /// After what the others may wait for was stored: wakes those that sleep for it.
    void wake_all();
    /// A member that is not coming: throws why.
    [[noreturn]] void throw_lost(int32_t member);

    ThreadTransport& transport_;
    ThreadWorldState& world_;
    Room& room_;
    int32_t me_;
    Place& mine_;
    std::vector<int64_t> awaited_;  ///< by member, the latest meeting in which this rank saw its offer
    bool shown_ = false;      ///< others may be at this rank's buffers
};

}  // namespace meshscope::backends::threads
