#pragma once

#include <map>
#include <string_view>
#include <vector>

#include "core/scenario/scenario.h"
#include "core/scenario/section.h"

namespace meshscope::scenario {

/// Reads the keys of [parallel] that say how a data strategy shards: sharding_strategy, prefetches, wrapping.
/// `scenario` holds the strategy and the mesh already; what does not go together is reported, with the
/// nearest that does. `mesh_known`: the mesh's shape may be judged.
void read_sharding(const Section& parallel, bool mesh_known, Scenario& scenario);

/// Reports keys of [parallel] that stand beside a strategy they mean nothing to.
void refuse_foreign_keys(const Section& parallel, const Scenario& scenario);

}  // namespace meshscope::scenario
