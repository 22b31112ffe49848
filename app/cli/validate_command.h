#pragma once

#include "app/cli/command.h"

namespace meshscope::cli {

/// `meshscope validate`: published training runs beside what is estimated of them.
void add_validate_command(CLI::App& app, CommandContext& context);

}  // namespace meshscope::cli
