#pragma once

#include <vector>

#include "app/gui/view/compare_figures.h"
#include "core/scenario/scenario.h"
#include "core/trace/trace.h"

namespace meshscope::session {

/// What a run was of, as its scenario and its record say it, under the scenario file's own keys. Without a
/// scenario (null) what the record alone says. Cost: O(1).
std::vector<view::RunTrait> run_traits(const trace::RunInfo& info, const scenario::Scenario* scenario);

}  // namespace meshscope::session
