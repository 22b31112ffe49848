#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "app/gui/view/pipeline_blocks.h"

namespace meshscope::view {

/// Of each block of a lane the place, in the row of what its rank was to compute ("2F0", in order), of the
/// action that it is. Nothing where the lane did not run this row. An input gradient that the first layer
/// does not need is no block, and a whole backward may look like its two halves. Cost: O(blocks + actions).
std::optional<std::vector<std::size_t>> actions_of(const PipelineLane& lane,
                                                   const std::vector<std::string>& row);

}  // namespace meshscope::view
