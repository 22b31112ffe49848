#include "backends/threads/thread_world_state.h"

#include <thread>
#include <utility>

#include "backends/threads/thread_table.h"
#include "core/base/cause.h"
#include "core/base/cores.h"
#include "core/base/error.h"
#include "core/comm/aborted.h"

namespace meshscope::backends::threads {

ThreadWorldState::ThreadWorldState(int32_t world_size, std::unique_ptr<Stepper> stepper)
    : rooms_(std::make_unique<Rooms>()), stepper_(std::move(stepper)), yields_(kYields), living_(world_size) {
    for (int32_t r = 0; r < world_size; ++r) slots_.push_back(std::make_unique<RankSlot>());
    if (stepper_) {
        // Who waits lets others run at once: nobody could help it meanwhile.
        spins_ = yields_ = 0;
        return;
    }
    // Spinning helps only while the peer really runs at the same time. Two ranks on one core (new threads
    // begin on their maker's) must not spin long before they let each other run: 64 pauses are some 2 us.
    if (world_size > usable_cores()) return;
    spins_ = 64;
    patience_ = kPatience;
}

ThreadWorldState::~ThreadWorldState() = default;

void ThreadWorldState::pause() {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#endif
}

void ThreadWorldState::yield() {
    std::this_thread::yield();
}

void ThreadWorldState::sleep(int32_t rank, std::unique_lock<std::mutex>& lock) {
    if (aborted() || leads_nowhere_locked(rank)) {
        slot(rank).waits_for.store(RankSlot::kAwake, std::memory_order_seq_cst);
        return;
    }
    RankSlot& mine = slot(rank);
    if (const int32_t speaker = speaker_locked(); speaker >= 0) {
        RankSlot& its = slot(speaker);
        its.waits_for.store(RankSlot::kAwake, std::memory_order_seq_cst);
        if (speaker == rank) return;
        if (stepper_)
            stepper_->ready(speaker);
        else
            its.awake.notify_one();
    }
    const auto awake = [&] { return mine.waits_for.load(std::memory_order_seq_cst) == RankSlot::kAwake; };
    if (stepper_) {
        lock.unlock();
        while (!awake()) stepper_->block(rank);
        lock.lock();
        return;
    }
    mine.awake.wait(lock, awake);
}

void ThreadWorldState::wake(int32_t rank, int32_t by) {
    RankSlot& other = slot(rank);
    if (other.waits_for.load(std::memory_order_seq_cst) != by) return;
    {
        const std::lock_guard lock(mutex_);
        if (other.waits_for.load(std::memory_order_seq_cst) != by) return;
        other.waits_for.store(RankSlot::kAwake, std::memory_order_seq_cst);
    }
    if (stepper_) return stepper_->ready(rank);
    other.awake.notify_one();
}

void ThreadWorldState::wake_all_locked() {
    for (std::size_t r = 0; r < slots_.size(); ++r) {
        RankSlot& other = *slots_[r];
        if (other.waits_for.load(std::memory_order_seq_cst) == RankSlot::kAwake) continue;
        other.waits_for.store(RankSlot::kAwake, std::memory_order_seq_cst);
        if (stepper_)
            stepper_->ready(static_cast<int32_t>(r));
        else
            other.awake.notify_one();
    }
}

void ThreadWorldState::fail_locked(int32_t rank, std::exception_ptr cause) {
    if (first_rank_ < 0) {
        first_rank_ = rank;
        first_message_ = message_of(cause);
        first_diagnosis_ = diagnosed(cause);
        first_cause_ = std::move(cause);
        aborted_.store(true, std::memory_order_seq_cst);
    }
    wake_all_locked();
}

void ThreadWorldState::fail(int32_t rank, std::exception_ptr cause) noexcept {
    const std::lock_guard lock(mutex_);
    fail_locked(rank, std::move(cause));
}

void ThreadWorldState::settle(int32_t rank, std::exception_ptr cause) noexcept {
    const std::lock_guard lock(mutex_);
    if (first_rank_ == rank && !first_cause_) {
        first_message_ = message_of(cause);
        first_diagnosis_ = diagnosed(cause);
        first_cause_ = cause;
    }
    fail_locked(rank, std::move(cause));
    if (slot(rank).end == RankState::running) slot(rank).end = RankState::finished;
    slot(rank).finished.store(true, std::memory_order_seq_cst);
    --living_;
}

void ThreadWorldState::finish(int32_t rank) {
    const std::lock_guard lock(mutex_);
    slot(rank).end = RankState::finished;
    slot(rank).finished.store(true, std::memory_order_seq_cst);
    --living_;
    // Whoever waits for this rank must learn that it waits in vain; the others go back to sleep, and see a
    // deadlock if there is one. A stalled rank wakes too: when only stalled ones live, nothing can come.
    wake_all_locked();
}

void ThreadWorldState::throw_secondary(int32_t rank) {
    int32_t first = -1;
    meshscope::Message why;
    std::shared_ptr<const DiagnosedError> diagnosis;
    {
        const std::lock_guard lock(mutex_);
        first = first_rank_;
        why = first_message_;
        diagnosis = first_diagnosis_;
    }
    // Every rank is told the same.
    if (diagnosis) throw DiagnosedError(diagnosis->message(), diagnosis->diagnosis(), GlobalRank{rank}, true);
    // A rank whose destructors gave up first has not said why yet.
    comm::throw_aborted(GlobalRank{rank}, first, why);
}

std::exception_ptr ThreadWorldState::first_cause() {
    const std::lock_guard lock(mutex_);
    if (first_rank_ >= 0 && !first_cause_)
        return std::make_exception_ptr(CommError(
            {"comm.gave_up", {{"rank", static_cast<int64_t>(first_rank_)}}}, GlobalRank{first_rank_}));
    return first_cause_;
}

}  // namespace meshscope::backends::threads
