#pragma once

#include "app/cli/command.h"

namespace meshscope::cli {

/// `run SCENARIO`: really trains it, writes what was asked for, and evaluates its checks.
void add_run_command(CLI::App& app, CommandContext& context);

}  // namespace meshscope::cli
