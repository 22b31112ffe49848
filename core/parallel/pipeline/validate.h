#pragma once

#include <cstdint>
#include <vector>

#include "core/base/message.h"
#include "core/parallel/pipeline/schedule.h"

namespace meshscope::parallel::pipeline {

/// Something for which a schedule does not train. `hint` says what would be right.
struct Fault {
    Message message;
    Message hint;
    int32_t rank = 0;
    int64_t slot = -1;  ///< where in the rank's order; -1: nowhere in particular
};

/// Everything for which a schedule does not train: every stage of every micro-batch runs F once and then B,
/// or I and then W, once; each on the rank of its stage; no action names a stage or micro-batch there is none
/// of; and the ranks can do all of it without waiting for each other in a circle. Stricter than PyTorch's
/// _validate_schedule, which only counts.
///
/// Message ids: "pipeline.ranks", "pipeline.no_such_stage", "pipeline.no_such_microbatch",
/// "pipeline.wrong_rank", "pipeline.twice", "pipeline.too_early", "pipeline.missing"; "pipeline.deadlock" of
/// each rank that is stuck, where there is nothing else. By rank and slot; each names rank, slot and action.
/// Cost: O(actions · log actions).
std::vector<Fault> faults_of(const Schedule& schedule);

/// Throws InvalidArgument with the first of faults_of(), if any.
void validate(const Schedule& schedule);

}  // namespace meshscope::parallel::pipeline
