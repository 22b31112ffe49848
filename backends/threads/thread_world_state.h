#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "backends/threads/stepper.h"
#include "core/base/diagnosis.h"
#include "core/base/fence.h"
#include "core/comm/transport.h"

namespace meshscope::backends::threads {

/// What has become of a posted message. Only these steps happen: posted → claimed → consumed; posted →
/// mismatched; posted → withdrawn. The receiver makes all but the last.
enum class MessageState : uint8_t {
    posted,
    claimed,     ///< the receiver reads the sender's buffer
    consumed,    ///< the sender may change the buffer
    mismatched,  ///< the receiver expected another size: `expected_bytes`
    withdrawn    ///< the sender took it back; the receiver drops it
};

/// One message. It belongs to its sender's pool; the receiver looks at it from the moment it was pushed until
/// it stores a final state.
struct Message {
    std::span<const std::byte> data;
    int32_t src = 0;
    int32_t dst = 0;
    comm::Channel channel;
    std::atomic<MessageState> state{MessageState::posted};
    int64_t expected_bytes = 0;  ///< written before state becomes mismatched
    Message* next = nullptr;     ///< in the receiver's inbox
};

/// Why a rank sleeps, for the deadlock report.
enum class WaitKind : uint8_t { message, acknowledgement };

class Rooms;

/// What one rank tells the others. Cache lines of their own: every sender writes the inbox, every waker reads
/// waits_for.
struct alignas(64) RankSlot {
    static constexpr int32_t kAwake = -1;
    static constexpr int32_t kStalled = -2;  ///< waits for nobody, for ever (a fault on demand)
    static constexpr int32_t kDead = -3;     ///< died (a fault on demand); the others go as far as they can

    std::atomic<Message*> inbox{nullptr};  ///< pushed by any rank, taken whole by the owner: newest first
    alignas(64) std::atomic<int32_t> waits_for{kAwake};  ///< the rank that must act before this one goes on
    std::atomic<bool> finished{false};
    WaitKind kind = WaitKind::message;  // these two under ThreadWorldState's mutex
    std::condition_variable awake;
    /// What the rank says of itself: written at every call, so not in the line that wakers read. Written by
    /// the thread that uses its transport, without a lock; others read it under ThreadWorldState's mutex, and
    /// only while the rank sleeps or after it ended, so the mutex orders the two.
    alignas(64) comm::CallLog calls;
    /// The number of its last collective, by index of the group, in no order; so too.
    std::vector<std::pair<int32_t, int32_t>> reached;
    RankState end =
        RankState::running;    ///< finished or lost, once `finished`; under ThreadWorldState's mutex
    std::deque<Message> pool;  ///< the owner's messages; lives as long as the world, so nobody dangles
};

/// What the ranks of one run share: their slots, the first failure, and who sleeps.
///
/// A message is handed over without a lock: push to the inbox, then look whether the receiver sleeps for us;
/// the receiver says that it sleeps, then looks into its inbox again. With sequentially consistent atomics
/// (messages), or a fence() on both sides (a table's signals), one of the two sees the other. The mutex is
/// taken only to sleep, to wake, to fail and to finish. Under it who sleeps is exact: a rank that made
/// another's condition true has woken it before it can sleep itself.
///
/// Deadlock, with no clock in it. Every wait is for one act of one peer: for the next message of `src`, which
/// only src can post (channels do not share messages, and a rank uses its transport from one thread, so it
/// posts nothing while it waits), or for the release of a message, which only its receiver can do. A rank
/// that needs several messages waits for them one after another and needs all of them, so each of these waits
/// must end before it goes on: an AND-wait, never an OR. Hence each sleeper has one edge to the rank it waits
/// for; a chain of edges that comes back to its beginning can never move again, whatever the other ranks do,
/// and a chain that ends at a rank which ended or stalled cannot either. A chain is closed by the last rank
/// of it that falls asleep, which therefore follows it (sleep()): so every deadlock is found in the moment in
/// which it comes about, also when other ranks still run.
///
/// A rank that waits for one that ended, or died, is stuck, but no other rank need be. So the world goes on
/// until nobody can: then the lowest stuck rank says why. What every rank did, and what was recorded of it,
/// does not depend on how fast the others were.
class ThreadWorldState {
  public:
    /// `stepper`: null for a world that runs free; otherwise one rank runs at a time, as it says.
    explicit ThreadWorldState(int32_t world_size, std::unique_ptr<Stepper> stepper = nullptr);
    ~ThreadWorldState();

    /// The token of a world whose ranks take turns; null when they run free.
    Stepper* stepper() { return stepper_.get(); }

    int32_t world_size() const { return static_cast<int32_t>(slots_.size()); }
    RankSlot& slot(int32_t rank) { return *slots_[static_cast<std::size_t>(rank)]; }
    Rooms& rooms() { return *rooms_; }
    /// More ranks than cores: waiting for one means giving it this rank's core.
    bool ranks_share_cores() const { return spins_ == 0; }
    bool aborted() const { return aborted_.load(std::memory_order_seq_cst); }

    /// What `rank` says of its call (Transport::note).
    void note(int32_t rank, comm::CallMoment moment, const comm::IssuedCall* call) {
        RankSlot& mine = slot(rank);
        mine.calls.note(moment, call);
        if (moment != comm::CallMoment::begins || !call->group || is_point_to_point(call->op)) return;
        for (auto& [group, sequence] : mine.reached)
            if (group == call->group->index) return static_cast<void>(sequence = call->sequence);
        mine.reached.emplace_back(call->group->index, call->sequence);
    }

    /// Returns when `ready()` is true. Spins briefly, yields, longer where each rank has a core, then sleeps
    /// until `peer` acts, or any rank finishes or fails; `ready` must become true when the world is aborted
    /// or `peer` finished. Called by `rank` only.
    template <class Ready>
    void wait_until(int32_t rank, int32_t peer, WaitKind kind, const Ready& ready) {
        for (int i = 0; i < spins_; ++i) {
            if (ready()) return;
            pause();
        }
        for (int i = 0; i < yields_; ++i) {
            if (ready()) return;
            yield();
        }
        if (patience_.count() > 0) {
            const auto until = std::chrono::steady_clock::now() + patience_;
            while (std::chrono::steady_clock::now() < until) {
                if (ready()) return;
                yield();
            }
        }
        RankSlot& mine = slot(rank);
        while (true) {
            std::unique_lock lock(mutex_);
            mine.waits_for.store(peer, std::memory_order_seq_cst);
            fence();
            if (ready()) {
                mine.waits_for.store(RankSlot::kAwake, std::memory_order_seq_cst);
                return;
            }
            mine.kind = kind;
            sleep(rank, lock);
            lock.unlock();
            // Asked again even when the world was aborted: what the caller waits for may have come with that.
            if (ready()) return;
        }
    }

    /// Wakes `rank` if it sleeps until `by` acts; a fence() stands between what was stored for it and this.
    /// Cost when it does not sleep: one load.
    void wake(int32_t rank, int32_t by);

    /// Rank `rank` failed with `cause` (null: it will be known when its body ends, see settle). The first
    /// call aborts the world and is remembered.
    void fail(int32_t rank, std::exception_ptr cause) noexcept;
    /// The body of `rank` ended by throwing `cause`.
    void settle(int32_t rank, std::exception_ptr cause) noexcept;
    /// The body of `rank` returned.
    void finish(int32_t rank);

    /// `rank` waits for `peer`, which has ended: once no rank can go on, aborts the world with the diagnosis
    /// and throws it, or what was first.
    [[noreturn]] void throw_finished(int32_t rank, int32_t peer, comm::Channel channel);
    /// `rank` dies here: aborts the world once no other rank can go on, and throws that, or what was first.
    [[noreturn]] void die(int32_t rank);
    /// `rank` does nothing more until the world is aborted; throws then.
    [[noreturn]] void stall(int32_t rank);

    /// Throws what a rank is told when another failed first.
    [[noreturn]] void throw_secondary(int32_t rank);
    /// What World::run rethrows; null when all went well. After all threads were joined.
    std::exception_ptr first_cause();

  private:
    static constexpr int kYields = 64;
    /// Where a rank has a core of its own nobody needs, waiting on costs nothing, and being woken costs more
    /// than a collective of a megabyte: ranks rarely come to one in the same moment.
    static constexpr std::chrono::microseconds kPatience{500};
    /// A living rank that sleeps: what it waits for, else kAwake.
    int32_t waits_for_locked(int32_t rank) const;
    /// Looks where the chain of waits that `rank` has just joined leads, and aborts the world when it leads
    /// nowhere; true then.
    bool leads_nowhere_locked(int32_t rank);
    bool is_waited_for_locked(int32_t rank) const;
    bool somebody_runs_locked() const;
    /// The rank that says why nobody can go on: the lowest that died, else that waits for one that ended; -1
    /// while somebody runs, and where there is none.
    int32_t speaker_locked() const;
    /// Sleeps until `rank` is the speaker (true) or the world was aborted (false).
    bool await_turn_to_speak(int32_t rank, int32_t waits_for, std::unique_lock<std::mutex>& lock);
    RankReport report_locked(int32_t rank, int32_t caller) const;
    /// Of those that `rank`, whose report it is, needs where it waits for `peer`: who ended without doing it.
    std::vector<int32_t> missing_locked(const RankReport& report, int32_t peer) const;
    Diagnosis diagnosis_locked(DiagnosisKind kind, int32_t caller) const;
    static void pause();
    static void yield();
    /// Sleeps with `lock` held until woken; whoever closes a ring of waits aborts the world instead, and the
    /// last that still ran wakes the speaker.
    void sleep(int32_t rank, std::unique_lock<std::mutex>& lock);
    void wake_all_locked();
    void fail_locked(int32_t rank, std::exception_ptr cause);

    std::vector<std::unique_ptr<RankSlot>> slots_;
    std::unique_ptr<Rooms> rooms_;
    std::unique_ptr<Stepper> stepper_;
    int spins_ = 0, yields_;
    std::chrono::microseconds patience_{0};
    std::atomic<bool> aborted_{false};

    std::mutex mutex_;
    int32_t living_;
    int32_t first_rank_ = -1;
    std::exception_ptr first_cause_;
    meshscope::Message first_message_;  ///< why, for the other ranks; without id while that is not known
    std::shared_ptr<const DiagnosedError> first_diagnosis_;  ///< null: the first cause is none
};

}  // namespace meshscope::backends::threads
