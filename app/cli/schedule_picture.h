#pragma once

#include <string>

#include "app/cli/command.h"
#include "core/parallel/pipeline/simulate.h"

namespace meshscope::cli {

/// Draws a pipeline: a line a rank, time to the right, F one column wide, a full backward two, idle time as
/// dots; too long a time goes on below. Under it the colours' meaning, the time it takes and the share of
/// bubbles. `name` is what the schedule is called.
void draw_schedule(const parallel::pipeline::Schedule& schedule, const std::string& name,
                   const parallel::pipeline::Timeline& timeline, const CommandContext& context);

}  // namespace meshscope::cli
