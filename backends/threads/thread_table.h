#pragma once

#include <array>
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
    /// kAhead before it. So offers stay for twice as long, for those who look late.
    static constexpr int64_t kAhead = 4;
    static constexpr int64_t kSlots = 2 * kAhead;

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
/// who read it; and the light side of one, so that a signal does not wait until it has arrived.) Likewise
/// enter() and withdraw(): one says "I am at the buffers" and then looks whether they were taken back, the
/// other takes them back and then looks who is at them.
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
    void leave_early() override;
    void await_left(int32_t member) override;
    comm::TableSpan span_of(int32_t member) const override;
    void close() override;
    void withdraw() noexcept override;

    /// Waits until everybody came to the meetings that this rank left early, and looks at their offers.
    void settle();

  private:
    void abort(const CommError& error) override;
    Place& place(int32_t member) const { return *room_.places[static_cast<std::size_t>(member)]; }
    int32_t global(int32_t member) const { return room_.ranks[static_cast<std::size_t>(member)].value; }
    int32_t size() const { return static_cast<int32_t>(room_.ranks.size()); }
    /// Where the member awaited last is ahead of this rank, as the root of broadcasts is: has the cache fetch
    /// what it has laid down for the next meeting, taken to be as long as this one.
    void look_ahead();
    /// Waits until everybody has left `meeting`, and looks at the calls of all meetings that turn out to be
    /// behind everybody: seldom, and several at once, since each look is a cache line that changes cores.
    void see_off(int64_t meeting);
    /// Sees that `member` made the same call in a meeting that it has left, if nobody looked yet.
    void look_at_call(int32_t member, int64_t meeting);
    /// Wakes those who sleep for this rank's coming, if it did not look for them since it came.
    void wake_for_arrival();
    void await_arrival(int32_t member, const Slot& slot);
    void await_left(int32_t member, int64_t meeting);
    int64_t awaited(int32_t member) const { return awaited_[static_cast<std::size_t>(member)]; }
    void wake_all();
    /// A member that is not coming: throws why.
    [[noreturn]] void throw_lost(int32_t member);

    ThreadTransport& transport_;
    ThreadWorldState& world_;
    Room& room_;
    int32_t me_;
    Place& mine_;
    std::array<bool, Place::kSlots> unseen_{};  ///< by slot: left early, and nobody looked yet
    comm::IssuedCall left_early_;               ///< the last call that was
    std::vector<int64_t> awaited_;  ///< by member, the latest meeting in which this rank saw its offer
    std::vector<const std::byte*>
        data_of_;  ///< by member, its first slot's data; the next begins room_bytes_ later
    std::size_t room_bytes_;
    bool was_there_ = false;  ///< who was awaited last had come already
    int64_t behind_ = 0;      ///< the latest meeting known to be behind everybody, calls looked at
    bool gives_ = false;      ///< its own offer of this meeting has something for the others
    bool looked_ = true;      ///< see wake_for_arrival()
    bool shown_ = false;      ///< others may be at this rank's buffers
};

}  // namespace meshscope::backends::threads
