#pragma once

#include <vector>

#include "core/parallel/pipeline/schedule.h"

namespace meshscope::parallel::pipeline {

/// What an action of one stage takes, in any unit. An overlapped pair takes the sum of its two.
struct Durations {
    double forward = 1, input_grad = 1, weight_grad = 1;

    double of(const Action& action) const;
};

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

/// The same order with every action one slot long and idle slots where a rank would wait.
std::vector<std::vector<Slot>> in_slots(const Schedule& schedule);

}  // namespace meshscope::parallel::pipeline
