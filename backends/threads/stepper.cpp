#include "backends/threads/stepper.h"

#include <algorithm>

namespace meshscope::backends::threads {

Stepper::Stepper(int32_t ranks, comm::InterleavingScheduler& scheduler)
    : scheduler_(scheduler), missing_(ranks) {
    for (int32_t r = 0; r < ranks; ++r) {
        slots_.push_back(std::make_unique<RankSlot>());
        slots_.back()->next = {GlobalRank{r}, comm::NextStep::What::start, GlobalRank{r}, {}, 0, nullptr};
    }
    runnable_.reserve(slots_.size());
}

void Stepper::await(RankSlot& mine) {
    mine.token.wait(0, std::memory_order_acquire);
    mine.token.store(0, std::memory_order_relaxed);
}

void Stepper::hand_over(int32_t rank) {
    runnable_.clear();
    for (const auto& each : slots_)
        if (each->state == State::ready) runnable_.push_back(each->next);
    RankSlot& mine = slot(rank);
    const bool left = mine.state == State::gone;
    // Nobody can go on only when all have left: a world in which all wait is a deadlock, which
    // ThreadWorldState finds before the last of them blocks, and then all are ready again.
    if (runnable_.empty()) return;
    const std::size_t chosen = std::min(scheduler_.choose(runnable_), runnable_.size() - 1);
    RankSlot& next = slot(runnable_[chosen].rank.value);
    if (&next == &mine) return;
    next.token.store(1, std::memory_order_release);
    next.token.notify_one();
    if (!left) await(mine);
}

void Stepper::enter(int32_t rank) {
    RankSlot& mine = slot(rank);
    mine.state = State::ready;
    // The last to come holds the token; what the others wrote is seen through the counter.
    if (missing_.fetch_sub(1, std::memory_order_acq_rel) == 1)
        hand_over(rank);
    else
        await(mine);
}

void Stepper::step(const comm::NextStep& next) {
    RankSlot& mine = slot(next.rank.value);
    mine.next = next;
    hand_over(next.rank.value);
    mine.next.call = nullptr;
}

void Stepper::block(int32_t rank) {
    RankSlot& mine = slot(rank);
    if (mine.state == State::ready) mine.state = State::blocked;
    hand_over(rank);
}

void Stepper::ready(int32_t rank) {
    RankSlot& other = slot(rank);
    if (other.state == State::blocked) other.state = State::ready;
}

void Stepper::leave(int32_t rank) {
    RankSlot& mine = slot(rank);
    const bool absent = mine.state == State::absent;
    mine.state = State::gone;
    if (!absent || missing_.fetch_sub(1, std::memory_order_acq_rel) == 1) hand_over(rank);
}

}  // namespace meshscope::backends::threads
