#pragma once

#include "core/scenario/scenario.h"
#include "core/scenario/section.h"

namespace meshscope::scenario {

/// [train] recompute, after everything it must go together with was read: units of FSDP that hold whole
/// layers, schedules whose backward is one piece.
void read_recompute(const Section& train, const Section& parallel, Scenario& scenario);

}  // namespace meshscope::scenario
