#pragma once

#include "app/cli/command.h"

namespace meshscope::cli {

/// `manual -o FOLDER`: writes a manual page (section 1) for each command, made from the help, in the
/// context's language.
void add_manual_command(CLI::App& app, CommandContext& context);

}  // namespace meshscope::cli
