#pragma once

#include "core/scenario/scenario.h"
#include "core/scenario/section.h"

namespace meshscope::scenario {

/// [eval], after the mesh, the strategy and [train] were read.
void read_evaluation(const Section& root, Scenario& scenario);

}  // namespace meshscope::scenario
