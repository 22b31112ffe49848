#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "app/gui/sandbox/pipeline_order.h"
#include "app/gui/view/pipeline_blocks.h"

namespace meshscope::session {

/// Of each block of a lane the place, in the row of what its rank was to compute, of the action that it is.
/// Nothing where the lane did not run this row. An input gradient that the first layer does not need is no
/// block, and a whole backward may look like its two halves. Cost: O(blocks + actions).
std::optional<std::vector<std::size_t>> actions_of(const view::PipelineLane& lane,
                                                   const std::vector<sandbox::RowAction>& row);

}  // namespace meshscope::session
