#pragma once

#include "core/scenario/scenario.h"
#include "core/scenario/section.h"

namespace meshscope::scenario {

/// Reads what [parallel] says of DDP alone (hooks, bucket views, graphs, Join) and [data] batches, and refuses
/// what PyTorch refuses or would hang on. After [data], [train] and the mesh were read.
void read_ddp(const Section& root, const Section& parallel, bool mesh_known, Scenario& s);

}  // namespace meshscope::scenario
