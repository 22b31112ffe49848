#pragma once

#include "app/cli/command.h"

namespace meshscope::cli {

/// `launch -n N -- COMMAND…`: processes on this machine with PyTorch's variables, watched and started again
/// by torchrun's rules.
void add_launch_command(CLI::App& app, CommandContext& context);

}  // namespace meshscope::cli
