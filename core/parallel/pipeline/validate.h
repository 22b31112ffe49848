#pragma once

#include "core/parallel/pipeline/schedule.h"

namespace meshscope::parallel::pipeline {

/// Whether a schedule trains: every stage of every micro-batch runs F once and then B, or I and then W, once;
/// each on the rank of its stage; no action names a stage or micro-batch there is none of; and the ranks can
/// do all of it without waiting for each other in a circle. Stricter than PyTorch's _validate_schedule, which
/// only counts.
///
/// Throws InvalidArgument: "pipeline.ranks", "pipeline.no_such_stage", "pipeline.no_such_microbatch",
/// "pipeline.wrong_rank", "pipeline.twice", "pipeline.missing", "pipeline.too_early", "pipeline.deadlock";
/// each names rank, slot and action.
void validate(const Schedule& schedule);

}  // namespace meshscope::parallel::pipeline
