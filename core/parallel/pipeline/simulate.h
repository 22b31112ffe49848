#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/parallel/pipeline/schedule.h"

namespace meshscope::parallel::pipeline {

/// What an action of one stage takes, in any unit. An overlapped pair takes the sum of its two.
struct Durations {
    double forward = 1, input_grad = 1, weight_grad = 1;

    double of(const Action& action) const;
};

/// OVERLAP_F_B's two; of any other action itself.
std::vector<Action> parts_of(const Action& action);

/// When a compute action ran.
struct Span {
    Action action;
    double begin = 0, end = 0;
};

/// A schedule played by its dependencies alone: a rank does its actions in order, each as soon as the rank is
/// free and what it needs is there; sending costs nothing.
struct Timeline {
    std::vector<std::vector<Span>> ranks;
    double makespan = 0;
    /// The part of all ranks' time, up to the makespan, in which they compute nothing: 1 - work /
    /// (P·makespan).
    double bubble_share = 0;
};

/// F(s, m) needs F(s-1, m); B and I(s, m) need F(s, m) and B or I(s+1, m); W(s, m) needs I(s, m); both halves
/// of an overlapped pair must be ready before it begins. Idle slots and communication are passed over. Throws
/// InvalidArgument ("pipeline.deadlock": rank, action, waits_for) when no rank can go on.
/// Cost: O(actions · log actions).
Timeline simulate(const Schedule& schedule, const Durations& durations = {});

/// The same order with the two of each overlapped pair one after the other, as a rank with one compute stream
/// runs them: neither waits for what the other needs.
Schedule pairs_apart(Schedule schedule);

/// A rank that cannot go on.
struct Stuck {
    int32_t rank = 0;
    int64_t slot = 0;       ///< where in its order
    std::string action;     ///< what it is about to run
    std::string waits_for;  ///< what has to run before and never does: "1F1"
    int32_t other = 0;      ///< the rank of its stage
};
/// Every rank at which simulate() would give up, by rank; none when the schedule can be done. Cost:
/// simulate()'s.
std::vector<Stuck> stuck_ranks(const Schedule& schedule);

/// The same order with every action one slot long and idle slots where a rank would wait.
std::vector<std::vector<Slot>> in_slots(const Schedule& schedule);

}  // namespace meshscope::parallel::pipeline
