#include "backends/threads/thread_table.h"

#include <algorithm>
#include <cstring>
#include <thread>

#include "backends/threads/thread_transport.h"
#include "core/base/fence.h"

namespace meshscope::backends::threads {
namespace {

constexpr auto kSignal = std::memory_order_seq_cst;
constexpr std::size_t kLine = 64;

constexpr std::size_t in_lines(std::size_t bytes) {
    return (bytes + kLine - 1) / kLine * kLine;
}

/// Of a slot's room by value: the parts, in lines of their own, and the data. The odd number of lines between
/// two slots' data lets them lie in different sets of the first-level cache.
std::size_t room_bytes(std::size_t members) {
    return in_lines(members * sizeof(comm::Part)) +
           static_cast<std::size_t>(comm::SharedTable::kByValueBytes) + 17 * kLine;
}

}  // namespace

Place::Place(std::size_t members)
    : finished(members, 0),
      memory(std::make_unique_for_overwrite<std::byte[]>(
          static_cast<std::size_t>(kSlots) * room_bytes(members) + kLine)) {
    const auto begin = reinterpret_cast<std::uintptr_t>(memory.get());
    std::byte* const first = memory.get() + (in_lines(begin) - begin);
    for (std::size_t i = 0; i < static_cast<std::size_t>(kSlots); ++i)
        slots[i].data = first + i * room_bytes(members);
}

Room& Rooms::find(comm::Channel channel, std::span<const GlobalRank> ranks) {
    const std::lock_guard lock(mutex_);
    for (const auto& room : rooms_)
        if (room->channel == channel && std::ranges::equal(room->ranks, ranks)) return *room;
    auto room = std::make_unique<Room>();
    room->channel = channel;
    room->ranks.assign(ranks.begin(), ranks.end());
    for (std::size_t i = 0; i < ranks.size(); ++i)
        room->places.push_back(std::make_unique<Place>(ranks.size()));
    rooms_.push_back(std::move(room));
    return *rooms_.back();
}

ThreadTable::ThreadTable(ThreadTransport& transport, ThreadWorldState& world, Room& room, int32_t me)
    : transport_(transport),
      world_(world),
      room_(room),
      me_(me),
      mine_(place(me)),
      awaited_(room.ranks.size(), 0) {}

void ThreadTable::wake_all() {
    fence();
    for (int32_t m = 0; m < size(); ++m)
        if (m != me_) world_.wake(global(m), global(me_));
}

comm::Offer& ThreadTable::begin() {
    transport_.check_aborted();
    const int64_t meeting = mine_.meetings + 1;
    // The slot's last meeting must be behind everybody: nobody reads in it any more.
    for (int32_t m = 0; m < size(); ++m)
        if (m != me_ && mine_.finished[static_cast<std::size_t>(m)] < meeting - Place::kSlots)
            await_left(m, meeting - Place::kSlots);
    mine_.meetings = meeting;
    return mine_.slot(meeting).offer = {};
}

int64_t ThreadTable::by_value_bytes(CollectiveOp op) const {
    // Where ranks share cores a signal is a change of threads, as long as copying all this.
    if (world_.ranks_share_cores()) return kByValueBytes;
    return op == CollectiveOp::broadcast ? 4096 : 1024;
}

void ThreadTable::arrive_by_value(int64_t own_begin, int64_t own_end) {
    Slot& slot = mine_.slot(mine_.meetings);
    comm::Offer& offer = slot.offer;
    std::byte* data = slot.data;
    if (offer.parts != nullptr) {
        const std::size_t bytes = room_.ranks.size() * sizeof(comm::Part);
        std::memcpy(data, offer.parts, bytes);
        offer.parts = reinterpret_cast<const comm::Part*>(data);
        data += in_lines(bytes);
    }
    const bool gives = offer.bytes > 0 && offer.input != nullptr;
    const auto lay_down = [&](int64_t begin, int64_t end) {
        if (gives && begin < end)
            std::memcpy(data + begin, offer.input + begin, static_cast<std::size_t>(end - begin));
    };
    lay_down(0, own_begin);
    lay_down(own_end, offer.bytes);
    offer.input = data;
    offer.by_value = true;
    slot.meeting.store(mine_.meetings, std::memory_order_release);
    wake_all();
}

void ThreadTable::arrive() {
    shown_ = true;
    mine_.slot(mine_.meetings).meeting.store(mine_.meetings, std::memory_order_release);
    wake_all();
}

const comm::Offer& ThreadTable::await(int32_t member) {
    const int64_t meeting = mine_.meetings;
    Slot& slot = place(member).slot(meeting);
    if (member == me_) return slot.offer;
    if (slot.meeting.load(std::memory_order_acquire) != meeting) await_arrival(member, slot);
    int64_t& known = mine_.finished[static_cast<std::size_t>(member)];
    known = std::max(known, meeting - 1);
    awaited_[static_cast<std::size_t>(member)] = meeting;
    return slot.offer;
}

void ThreadTable::await_arrival(int32_t member, const Slot& slot) {
    const int64_t meeting = mine_.meetings;
    const int32_t peer = global(member);
    // `finished` is read before the flag: what a member laid down before it ended is still to be had.
    world_.wait_until(global(me_), peer, WaitKind::message, [&] {
        const bool ended = world_.aborted() || world_.slot(peer).finished.load(kSignal);
        return slot.meeting.load(kSignal) == meeting || ended;
    });
    if (slot.meeting.load(kSignal) != meeting) throw_lost(member);
}

void ThreadTable::enter() {
    const int64_t meeting = mine_.meetings;
    mine_.stage.store(2 * meeting, std::memory_order_release);
    fence();
    for (int32_t m = 0; m < size(); ++m)
        if (awaited(m) == meeting && place(m).slot(meeting).meeting.load(kSignal) != meeting) {
            mine_.stage.store(2 * meeting - 1, kSignal);  // before waiting: who withdraws waits for us
            throw_lost(m);
        }
}

void ThreadTable::leave(comm::TableSpan span) {
    if (shown_) mine_.span = span;  // by value nobody looks at it
    leave();
}

void ThreadTable::leave() {
    mine_.stage.store(2 * mine_.meetings + 1, std::memory_order_release);
    wake_all();
}

void ThreadTable::await_left(int32_t member, int64_t meeting) {
    const int32_t peer = global(member);
    const std::atomic<int64_t>& stage = place(member).stage;
    const int64_t left = 2 * meeting + 1;
    int64_t seen = stage.load(kSignal);
    if (seen < left) {
        world_.wait_until(global(me_), peer, WaitKind::acknowledgement, [&] {
            const bool ended = world_.aborted() || world_.slot(peer).finished.load(kSignal);
            seen = stage.load(kSignal);
            return seen >= left || ended;
        });
        if (seen < left) throw_lost(member);
    }
    // What it has left since is known as well, so that this line is not asked for at every call.
    int64_t& known = mine_.finished[static_cast<std::size_t>(member)];
    known = std::max(known, (seen - 1) / 2);
}

void ThreadTable::await_left(int32_t member) {
    await_left(member, mine_.meetings);
}

void ThreadTable::close() {
    shown_ = false;
}

comm::TableSpan ThreadTable::span_of(int32_t member) const {
    return place(member).span;
}

void ThreadTable::abort(const CommError& error) {
    // The members hold a broken meeting now, so the world ends here, not when this rank's body does.
    world_.fail(global(me_), std::make_exception_ptr(error));
    transport_.withdraw();
}

void ThreadTable::throw_lost(int32_t member) {
    const int32_t peer = global(member);
    // A member that took its offer back is failing and will say why; its own words are the better news.
    world_.wait_until(global(me_), peer, WaitKind::message,
                      [&] { return world_.aborted() || world_.slot(peer).finished.load(kSignal); });
    transport_.throw_finished(peer, room_.channel);
}

void ThreadTable::withdraw() noexcept {
    const int64_t meeting = mine_.meetings;
    // Failing at the others' buffers, this rank is at them no more, but has not done its part either.
    if (mine_.stage.load(kSignal) == 2 * meeting) mine_.stage.store(2 * meeting - 1, kSignal);
    if (!shown_) return;
    shown_ = false;
    mine_.slot(meeting).meeting.store(Slot::kWithdrawn, kSignal);
    fence();
    for (int32_t m = 0; m < size(); ++m)
        while (m != me_ && place(m).stage.load(kSignal) == 2 * meeting) std::this_thread::yield();
}

}  // namespace meshscope::backends::threads
