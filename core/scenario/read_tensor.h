#pragma once

#include "core/scenario/scenario.h"
#include "core/scenario/section.h"

namespace meshscope::scenario {

/// Reads [parallel] tp_plan, sequence_parallel and loss_parallel, and refuses what the tp dim of the mesh
/// cannot cut: told at the key that would have to change, with the nearest values that can. The model and the
/// mesh are read before.
void read_tensor_parallel(const Section& parallel, const Section& model, Scenario& scenario);

}  // namespace meshscope::scenario
