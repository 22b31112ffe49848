#pragma once

#include "core/scenario/scenario.h"
#include "core/scenario/section.h"

namespace meshscope::scenario {

/// [run] and [[faults]], after the mesh and [train] were read. `mesh_known` is false when the number of ranks
/// is not.
void read_faults(const Section& root, bool mesh_known, Scenario& scenario);

}  // namespace meshscope::scenario
