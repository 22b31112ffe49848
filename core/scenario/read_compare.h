#pragma once

#include "core/scenario/scenario.h"
#include "core/scenario/section.h"

namespace meshscope::scenario {

/// The most runs that stand beside the scenario's own.
inline constexpr int64_t kMostCompared = 3;

/// Reads [compare] scenarios: the files that the window runs beside this one. They must be there, each once,
/// and be others than this file; what they hold is read when they are run, so that two files may name each
/// other.
void read_compare(const Section& root, Scenario& scenario);

}  // namespace meshscope::scenario
