#pragma once

#include "core/scenario/scenario.h"
#include "core/scenario/section.h"

namespace meshscope::scenario {

/// Reads [parallel] cp and cp_load_balance, and refuses what the cp dim of the mesh cannot cut or be combined
/// with: told at the key that would have to change, with the nearest values that can. The model, the mesh and
/// the keys of tensor parallelism are read before.
void read_context_parallel(const Section& parallel, const Section& mesh, const Section& model,
                           Scenario& scenario);

}  // namespace meshscope::scenario
