#pragma once

#include <vector>

#include "core/trace/trace.h"

namespace meshscope::trace::example {

/// Two ranks in one group, one step of something like FSDP: on each rank a linear, an all_gather on its own
/// stream (one hop, values kept), a linear that depends on it, memory that grows and shrinks. Recorded by
/// real Recorders, so every field is what a run would hold; ranks differ by what they receive.
std::vector<RankRecord> records(Level level = Level::values);

/// What goes with records(): two ranks on two nodes, mesh (2) named "shard".
RunInfo info();

/// The groups of records().
std::vector<Group> groups();

/// All of it, merged.
Trace merged(Level level = Level::values);

/// `ranks` ranks, each with `events` events (every other one an all_gather with `hops` hops of 4 values),
/// memory changes and dependencies; values follow a simple rule of the indices.
Trace large(int32_t ranks, int32_t events, int32_t hops);

}  // namespace meshscope::trace::example
