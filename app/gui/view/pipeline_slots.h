#pragma once

#include "app/gui/view/pipeline_blocks.h"
#include "core/trace/trace.h"

namespace meshscope::view {

/// Where a grid's blocks stand in slots (PipelineGrid), and how many each lane works: played by what they
/// need, or, of a simulated record, where its simulation put them. Cost: O(blocks · log blocks).
void fill_slots(const trace::Trace& trace, PipelineGrid& grid);

}  // namespace meshscope::view
