#pragma once

#include "core/scenario/scenario.h"
#include "core/scenario/section.h"

namespace meshscope::scenario {

/// Reads the keys of [parallel] that say how a data strategy shards and take several types or must fit the
/// model: prefetches, wrapping, mixed precision.
/// `scenario` holds the strategy and the mesh already; what does not go together is reported, with the
/// nearest that does. `mesh_known`: the mesh's shape may be judged.
void read_sharding(const Section& parallel, bool mesh_known, Scenario& scenario);

}  // namespace meshscope::scenario
