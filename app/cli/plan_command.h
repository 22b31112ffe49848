#pragma once

#include "app/cli/command.h"

namespace meshscope::cli {

/// `meshscope plan`: the layouts of a model on so many GPUs that fit, the fastest first.
void add_plan_command(CLI::App& app, CommandContext& context);

}  // namespace meshscope::cli
