#include "backends/threads/stepper.h"

#include <algorithm>
#include <cstddef>

namespace meshscope::backends::threads {

Stepper::Stepper(int32_t ranks, Turns& turns, comm::InterleavingScheduler* scheduler)
    : turns_(turns), scheduler_(scheduler), slots_(static_cast<std::size_t>(ranks)) {
    for (int32_t r = 0; r < ranks; ++r)
        slot(r).next = {GlobalRank{r}, comm::NextStep::What::start, GlobalRank{r}, {}, 0, nullptr};
    if (scheduler_ != nullptr) runnable_.reserve(slots_.size());
}

int32_t Stepper::next_rank() {
    // Nobody can go on only when all have left: a world in which all wait is a deadlock, which
    // ThreadWorldState finds before the last of them blocks, and then all are ready again.
    if (scheduler_ == nullptr) {
        if (waiting_.empty()) return kNobody;
        const int32_t first = waiting_.front();
        waiting_.pop_front();
        return first;
    }
    runnable_.clear();
    for (const RankSlot& each : slots_)
        if (each.state == State::ready) runnable_.push_back(each.next);
    if (runnable_.empty()) return kNobody;
    const std::size_t chosen = std::min(scheduler_->choose(runnable_), runnable_.size() - 1);
    return runnable_[chosen].rank.value;
}

void Stepper::hand_over(int32_t rank) {
    const bool left = slot(rank).state == State::gone;
    const int32_t next = next_rank();
    if (next == kNobody || next == rank) return;
    if (left)
        turns_.leave_to(next);
    else
        turns_.pass(rank, next);
}

int32_t Stepper::begin() {
    if (scheduler_ == nullptr)
        for (std::size_t r = 0; r < slots_.size(); ++r)
            if (slots_[r].state == State::ready) waiting_.push_back(static_cast<int32_t>(r));
    return next_rank();
}

void Stepper::step(const comm::NextStep& next) {
    if (scheduler_ == nullptr) return;
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
    if (other.state != State::blocked) return;
    other.state = State::ready;
    if (scheduler_ == nullptr) waiting_.push_back(rank);
}

void Stepper::leave(int32_t rank) {
    slot(rank).state = State::gone;
    hand_over(rank);
}

}  // namespace meshscope::backends::threads
