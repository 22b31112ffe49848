#pragma once

#include "core/scenario/scenario.h"
#include "core/scenario/section.h"

namespace meshscope::scenario {

/// Reads what [parallel] says of fully_shard: what stays after forward and backward, what is fetched early,
/// how gradients are divided, when they travel, where shards lie. After the mesh was read.
void read_fsdp2(const Section& parallel, bool mesh_known, Scenario& s);

}  // namespace meshscope::scenario
