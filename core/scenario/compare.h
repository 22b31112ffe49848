#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/scenario/scenario.h"

namespace meshscope::scenario {

/// What [compare] strategies may name: the data strategies that run on several processes, and "hsdp", which
/// is fsdp2 on a mesh of two dims.
std::span<const std::string_view> compared_strategies();

/// The same model, data, optimizer, number of ranks and machines under another data strategy: what a teacher
/// lays beside it. The mesh becomes one dim of all ranks; for hsdp two, the shard dim being a machine's ranks
/// where several machines share the ranks evenly, else half of them (a scenario that is hsdp keeps its own
/// mesh). Of [parallel] only `algorithm` stays, and `units` where the strategy has them: its own options are
/// at their defaults. Lesson, questions, checks, faults, checkpoints, evaluation and [compare] are left out.
///
/// Throws InvalidArgument ("scenario.strategy_needs_data_mesh": the mesh has dims of tp, pp or cp, or one
/// rank; "scenario.strategy_needs_even_ranks": hsdp on an odd number; "scenario.unknown_word"); InputError
/// where the changed scenario is none. Cost: reading the file once more.
Scenario with_strategy(const Scenario& scenario, std::string_view strategy);

/// Those of compared_strategies() that the scenario can be run with and is not run with already.
std::vector<std::string> other_strategies(const Scenario& scenario);

}  // namespace meshscope::scenario
