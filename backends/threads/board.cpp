#include "backends/threads/board.h"

#include <thread>
#include <utility>

#include "backends/threads/thread_table.h"
#include "core/base/error.h"

namespace meshscope::backends::threads {
namespace {

std::string words_of(const std::exception_ptr& cause) {
    try {
        std::rethrow_exception(cause);
    } catch (const std::exception& error) {
        return error.what();
    } catch (...) {
        return "?";
    }
}

}  // namespace

Board::Board(int32_t world_size) : rooms_(std::make_unique<Rooms>()), living_(world_size) {
    for (int32_t r = 0; r < world_size; ++r) seats_.push_back(std::make_unique<Seat>());
    // Spinning helps only while the peer really runs at the same time. Two ranks on one core (new threads
    // begin on their maker's) must not spin long before they let each other run: 64 pauses are some 2 us.
    spins_ = world_size <= static_cast<int32_t>(std::thread::hardware_concurrency()) ? 64 : 0;
}

Board::~Board() = default;

void Board::pause() {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#endif
}

void Board::yield() {
    std::this_thread::yield();
}

void Board::sleep(int32_t rank, std::unique_lock<std::mutex>& lock) {
    Seat& mine = seat(rank);
    ++sleeping_;
    if (sleeping_ == living_ && !aborted()) {
        // Errors name the lowest rank, so that the report does not depend on who fell asleep last.
        int32_t lowest = 0;
        while (seat(lowest).finished.load()) ++lowest;
        fail_locked(lowest, std::make_exception_ptr(CommError(
                                {"comm.deadlock", {{"waits", who_waits_locked()}}}, GlobalRank{lowest})));
        return;
    }
    mine.awake.wait(lock, [&] { return mine.waits_for.load(std::memory_order_seq_cst) == Seat::kAwake; });
}

void Board::wake(int32_t rank, int32_t by) {
    Seat& other = seat(rank);
    if (other.waits_for.load(std::memory_order_seq_cst) != by) return;
    {
        const std::lock_guard lock(mutex_);
        if (other.waits_for.load(std::memory_order_seq_cst) != by) return;
        other.waits_for.store(Seat::kAwake, std::memory_order_seq_cst);
        --sleeping_;
    }
    other.awake.notify_one();
}

void Board::wake_all_locked() {
    for (const auto& other : seats_) {
        if (other->waits_for.load(std::memory_order_seq_cst) == Seat::kAwake) continue;
        other->waits_for.store(Seat::kAwake, std::memory_order_seq_cst);
        --sleeping_;
        other->awake.notify_one();
    }
}

void Board::fail_locked(int32_t rank, std::exception_ptr cause) {
    if (first_rank_ < 0) {
        first_rank_ = rank;
        if (cause) first_words_ = words_of(cause);
        first_cause_ = std::move(cause);
        aborted_.store(true, std::memory_order_seq_cst);
    }
    wake_all_locked();
}

void Board::fail(int32_t rank, std::exception_ptr cause) noexcept {
    const std::lock_guard lock(mutex_);
    fail_locked(rank, std::move(cause));
}

void Board::settle(int32_t rank, std::exception_ptr cause) noexcept {
    const std::lock_guard lock(mutex_);
    if (first_rank_ == rank && !first_cause_) {
        first_words_ = words_of(cause);
        first_cause_ = cause;
    }
    fail_locked(rank, std::move(cause));
    seat(rank).finished.store(true, std::memory_order_seq_cst);
    --living_;
}

void Board::finish(int32_t rank) {
    const std::lock_guard lock(mutex_);
    seat(rank).finished.store(true, std::memory_order_seq_cst);
    --living_;
    // Whoever waits for this rank must learn that it waits in vain; the others go back to sleep, and the last
    // of them sees a deadlock if there is one.
    wake_all_locked();
}

std::string Board::who_waits_locked() const {
    std::string text;
    for (std::size_t r = 0; r < seats_.size(); ++r) {
        const int32_t peer = seats_[r]->waits_for.load(std::memory_order_seq_cst);
        if (peer == Seat::kAwake) continue;
        text += (text.empty() ? "" : ", ") + std::to_string(r) + " → " + std::to_string(peer);
    }
    return text;
}

void Board::throw_secondary(int32_t rank) {
    int32_t first = -1;
    std::string words;
    {
        const std::lock_guard lock(mutex_);
        first = first_rank_;
        words = first_words_;
    }
    const auto value = static_cast<int64_t>(first);
    // A rank whose destructors gave up first has not said why yet.
    if (words.empty()) throw CommError({"comm.aborted_unknown", {{"rank", value}}}, GlobalRank{rank}, true);
    throw CommError({"comm.aborted", {{"rank", value}, {"cause", words}}}, GlobalRank{rank}, true);
}

std::exception_ptr Board::first_cause() {
    const std::lock_guard lock(mutex_);
    if (first_rank_ >= 0 && !first_cause_)
        return std::make_exception_ptr(CommError(
            {"comm.gave_up", {{"rank", static_cast<int64_t>(first_rank_)}}}, GlobalRank{first_rank_}));
    return first_cause_;
}

}  // namespace meshscope::backends::threads
