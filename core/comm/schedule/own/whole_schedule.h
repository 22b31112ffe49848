#pragma once

#include <memory>
#include <vector>

#include "core/comm/schedule/kept_steps.h"
#include "core/comm/schedule/own/own_algorithm.h"
#include "core/comm/schedule/verify.h"

namespace meshscope::comm {

/// All ranks' steps of a small call in which a chunk is one element: for who looks at an algorithm as a
/// whole.
struct WholeSchedule {
    ScheduleCall call;
    std::vector<KeptSteps> ranks;
    int32_t rounds = 0;

    int64_t chunks() const { return call.elements; }
};

/// A message, as its receiver takes it.
struct Hop {
    int32_t round = 0, from = 0, to = 0, chunk = 0;
    int64_t chunks = 0;
    bool adds = false;
};

/// Of a proved algorithm of a file.
WholeSchedule whole_schedule(const OwnAlgorithm& algorithm, int32_t ranks);
/// Of one of the list, which has the op for so many ranks; the buffer is cut into as many chunks as there are
/// ranks, an all_reduce's into as many as the algorithm names where those are more.
WholeSchedule whole_schedule(Algorithm algorithm, CollectiveOp op, int32_t ranks);

/// Its messages by round, then sender.
std::vector<Hop> hops_of(const WholeSchedule& schedule);

/// The schedule as MSCCL XML: a threadblock for each peer of a rank and direction and one for copies, each
/// step after the one before it. Where both sides of a message cut it differently it becomes several.
std::string msccl_of(const WholeSchedule& schedule, const std::string& name);
/// The schedule in the TOML form, a [[step]] for each message and copy. "" where its order cannot be said in
/// rounds: then what it says would not be proved.
std::string toml_of(const WholeSchedule& schedule, const std::string& name);

}  // namespace meshscope::comm
