#include "backends/threads/stepper.h"

#include <algorithm>

namespace meshscope::backends::threads {

Stepper::Stepper(int32_t ranks, comm::Chooser& chooser) : chooser_(chooser), missing_(ranks) {
    for (int32_t r = 0; r < ranks; ++r) {
        seats_.push_back(std::make_unique<Seat>());
        seats_.back()->next = {GlobalRank{r}, comm::NextStep::What::start, GlobalRank{r}, {}, 0, nullptr};
    }
    runnable_.reserve(seats_.size());
}

void Stepper::await(Seat& mine) {
    mine.token.wait(0, std::memory_order_acquire);
    mine.token.store(0, std::memory_order_relaxed);
}

void Stepper::hand_over(int32_t rank) {
    runnable_.clear();
    for (const auto& each : seats_)
        if (each->state == State::ready) runnable_.push_back(each->next);
    Seat& mine = seat(rank);
    const bool left = mine.state == State::gone;
    // Nobody can go on only when all have left: a world in which all wait is a deadlock, which Board finds
    // before the last of them blocks, and then all are ready again.
    if (runnable_.empty()) return;
    const std::size_t chosen = std::min(chooser_.choose(runnable_), runnable_.size() - 1);
    Seat& next = seat(runnable_[chosen].rank.value);
    if (&next == &mine) return;
    next.token.store(1, std::memory_order_release);
    next.token.notify_one();
    if (!left) await(mine);
}

void Stepper::enter(int32_t rank) {
    Seat& mine = seat(rank);
    mine.state = State::ready;
    // The last to come holds the token; what the others wrote is seen through the counter.
    if (missing_.fetch_sub(1, std::memory_order_acq_rel) == 1)
        hand_over(rank);
    else
        await(mine);
}

void Stepper::step(const comm::NextStep& next) {
    Seat& mine = seat(next.rank.value);
    mine.next = next;
    hand_over(next.rank.value);
    mine.next.call = nullptr;
}

void Stepper::block(int32_t rank) {
    Seat& mine = seat(rank);
    if (mine.state == State::ready) mine.state = State::blocked;
    hand_over(rank);
}

void Stepper::ready(int32_t rank) {
    Seat& other = seat(rank);
    if (other.state == State::blocked) other.state = State::ready;
}

void Stepper::leave(int32_t rank) {
    Seat& mine = seat(rank);
    const bool absent = mine.state == State::absent;
    mine.state = State::gone;
    if (!absent || missing_.fetch_sub(1, std::memory_order_acq_rel) == 1) hand_over(rank);
}

}  // namespace meshscope::backends::threads
