#pragma once

#include "app/cli/command.h"

namespace meshscope::cli {

/// `schedule`: which rank works on which stage and micro-batch when, drawn, as JSON or as CSV in PyTorch's
/// action text.
void add_schedule_command(CLI::App& app, CommandContext& context);

}  // namespace meshscope::cli
