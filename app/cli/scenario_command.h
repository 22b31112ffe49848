#pragma once

#include "app/cli/command.h"

namespace meshscope::cli {

/// `meshscope scenario from FILE…`: a scenario from another program's job files.
void add_scenario_command(CLI::App& app, CommandContext& context);

}  // namespace meshscope::cli
