#pragma once

#include "core/scenario/scenario.h"
#include "core/scenario/section.h"

namespace meshscope::scenario {

/// Reads [parallel] schedule, microbatches and stages_per_rank, which belong together with a mesh dim named
/// pp. Mesh, model, data strategy and [train] must have been read. What the schedule cannot run, and what
/// cannot be cut into its stages, is reported with the nearest values that can.
void read_pipeline(const Section& parallel, const Section& mesh, const Section& model, const Section& train,
                   Scenario& s);

}  // namespace meshscope::scenario
