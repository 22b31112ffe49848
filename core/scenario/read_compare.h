#pragma once

#include "core/scenario/scenario.h"
#include "core/scenario/section.h"

namespace meshscope::scenario {

/// The most runs that stand beside the scenario's own.
inline constexpr int64_t kMostCompared = 3;

/// Reads [compare]: what the window runs beside this scenario. `strategies`: the same scenario under other
/// data strategies (see with_strategy). `scenarios`: files, which must be there, each once, and be others
/// than this one; what they hold is read when they are run, so that two files may name each other.
void read_compare(const Section& root, Scenario& scenario);

}  // namespace meshscope::scenario
