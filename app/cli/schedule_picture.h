#pragma once

#include <iosfwd>

#include "app/cli/command.h"
#include "core/parallel/pipeline/simulate.h"

namespace meshscope::cli {

/// Draws a pipeline: a line a rank, time to the right, F one column wide, a full backward two, idle time as
/// dots; too long a time goes on below. Under it the colours' meaning, the time it takes and the share of
/// bubbles.
void draw_schedule(const parallel::pipeline::Schedule& schedule, const parallel::pipeline::Timeline& timeline,
                   const CommandContext& context);

}  // namespace meshscope::cli
