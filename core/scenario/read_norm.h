#pragma once

#include "core/scenario/scenario.h"
#include "core/scenario/section.h"

namespace meshscope::scenario {

/// Refuses what [model] norm does not go together with, once all of [model], [data], [train], [mesh] and
/// [parallel] are read, and a batch norm of one row. `mesh_known`: the mesh has no mistake.
void check_norm(const Section& root, bool mesh_known, const Scenario& s);

}  // namespace meshscope::scenario
