#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "backends/threads/turns.h"
#include "core/comm/interleaving_scheduler.h"

namespace meshscope::backends::threads {

/// Lets one rank of a world run at a time: a token goes from rank to rank.
///
/// With a scheduler whoever holds the token asks it, before each step, which of the ranks that can go on gets
/// it next. Without one a rank keeps the token until it has to wait, and the ranks that can go on get it in
/// the order in which what they waited for came.
///
/// Everything here is touched by the holder of the token alone, and the token's hand-over orders it, so there
/// is no lock. Cost: with a scheduler the list of the ranks that can go on and its choice; one turn (Turns)
/// when the token goes.
class Stepper {
  public:
    /// `turns` and `scheduler` (may be null) outlive it.
    Stepper(int32_t ranks, Turns& turns, comm::InterleavingScheduler* scheduler);

    /// Whether ranks stop before each message for a scheduler to choose.
    bool chooses() const { return scheduler_ != nullptr; }

    static constexpr int32_t kNobody = -1;

    /// `rank` will not come: nothing could run it. Before begin().
    void never_comes(int32_t rank) { slot(rank).state = State::gone; }
    /// All that come are there, and no choice was made before: returns whose the first turn is, or kNobody.
    int32_t begin();
    /// The rank is about to do `next`: others may come first. Returns when it may.
    void step(const comm::NextStep& next);
    /// The rank cannot go on until ready(); the token goes to another.
    void block(int32_t rank);
    /// What `rank` was blocked for has come. By the holder of the token.
    void ready(int32_t rank);
    /// The rank's body is over.
    void leave(int32_t rank);

  private:
    enum class State : uint8_t { ready, blocked, gone };
    struct RankSlot {
        State state = State::ready;
        comm::NextStep next;
    };

    RankSlot& slot(int32_t rank) { return slots_[static_cast<std::size_t>(rank)]; }
    /// Who gets the token now.
    int32_t next_rank();
    /// Gives the token to whom next_rank() says; returns when `rank` has it back (at once when it was chosen,
    /// or when it left).
    void hand_over(int32_t rank);

    Turns& turns_;
    comm::InterleavingScheduler* scheduler_;
    std::vector<RankSlot> slots_;
    std::vector<comm::NextStep> runnable_;
    std::deque<int32_t> waiting_;  ///< without a scheduler: those that can go on, the next first
};

}  // namespace meshscope::backends::threads
