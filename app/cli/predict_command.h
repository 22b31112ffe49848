#pragma once

#include "app/cli/command.h"

namespace meshscope::cli {

/// `meshscope predict`: bytes, memory and time of a scenario without running it.
void add_predict_command(CLI::App& app, CommandContext& context);

}  // namespace meshscope::cli
