#pragma once

#include "app/cli/command.h"

namespace meshscope::cli {

/// `algorithm verify|show|export`: a collective algorithm from a file, or a built-in one: proved, shown round
/// by round beside the textbook's figures, written down as MSCCL XML or in the TOML form.
void add_algorithm_command(CLI::App& app, CommandContext& context);

}  // namespace meshscope::cli
