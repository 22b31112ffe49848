#pragma once

#include "app/cli/command.h"

namespace meshscope::cli {

/// `mesh`: what every rank, or one rank, reads from a device mesh and from requests made of it.
void add_mesh_command(CLI::App& app, CommandContext& context);

}  // namespace meshscope::cli
