#pragma once

#include "core/scenario/scenario.h"
#include "core/scenario/section.h"

namespace meshscope::scenario {

/// Reads the keys of [parallel] that strategies declare (parallel::StrategyKey), all but those with a reader
/// of their own. A value of the wrong type is reported whatever the strategy is.
void read_strategy_keys(const Section& parallel, Scenario& scenario);

/// Reports keys of [parallel] that stand beside a strategy they mean nothing to, keys that the strategy
/// needs, and what it refuses of itself. `mesh_known`: the mesh's dims may be judged.
void refuse_strategy(const Section& parallel, bool mesh_known, const Scenario& scenario);

}  // namespace meshscope::scenario
