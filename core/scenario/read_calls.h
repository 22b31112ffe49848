#pragma once

#include "core/scenario/scenario.h"
#include "core/scenario/section.h"

namespace meshscope::scenario {

/// The most ranks that a scenario of plain calls may have: every one is run, in a prediction too.
inline constexpr int64_t kMostCallRanks = 4096;

/// Reads the [[call]]s of a scenario that trains nothing, with [mesh] and [parallel] algorithm, and refuses
/// what belongs to training. A call that a rank could not make is reported here: a root, a sender or a
/// receiver outside of the group, elements that do not divide, a reduction without meaning for the dtype,
/// values of the wrong number or range. Whether the ranks' calls fit together is not asked: that they do not
/// may be the lesson. False when the mesh could not be read.
bool read_calls(const Section& root, Scenario& scenario);

}  // namespace meshscope::scenario
