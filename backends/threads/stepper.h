#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/comm/interleaving_scheduler.h"

namespace meshscope::backends::threads {

/// Lets one rank of a world run at a time. A token goes from rank to rank; whoever holds it asks the
/// scheduler which of the ranks that can go on gets it next. Threads stay threads (debuggers, exceptions and
/// thread-local state work as ever); the others sleep on a futex each.
///
/// Everything here is touched by the holder of the token alone, and the token's hand-over orders it, so there
/// is no lock. Cost: nothing but the choice when the token stays, one wake-up when it goes.
class Stepper {
  public:
    /// `scheduler` outlives it.
    Stepper(int32_t ranks, comm::InterleavingScheduler& scheduler);

    /// The rank's thread is there; returns when it is let go on for the first time. The first choice is made
    /// once all are there, so it does not depend on which thread came first.
    void enter(int32_t rank);
    /// The rank is about to do `next`: others may come first. Returns when it may.
    void step(const comm::NextStep& next);
    /// The rank cannot go on until ready(); the token goes to another.
    void block(int32_t rank);
    /// What `rank` was blocked for has come. By the holder of the token.
    void ready(int32_t rank);
    /// The rank's body is over, or its thread never began.
    void leave(int32_t rank);

  private:
    enum class State : uint8_t { absent, ready, blocked, gone };
    struct alignas(64) RankSlot {
        std::atomic<uint32_t> token{0};
        State state = State::absent;
        comm::NextStep next;
    };

    RankSlot& slot(int32_t rank) { return *slots_[static_cast<std::size_t>(rank)]; }
    /// Gives the token to whom the scheduler says; returns when `rank` has it back (at once when it was
    /// chosen, or when it left).
    void hand_over(int32_t rank);
    void await(RankSlot& mine);

    comm::InterleavingScheduler& scheduler_;
    std::vector<std::unique_ptr<RankSlot>> slots_;
    std::atomic<int32_t> missing_;  ///< threads that did not come yet
    std::vector<comm::NextStep> runnable_;
};

}  // namespace meshscope::backends::threads
