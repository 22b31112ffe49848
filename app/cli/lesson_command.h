#pragma once

#include "app/cli/command.h"

namespace meshscope::cli {

/// `lesson list|run|check`: the lessons, told in the terminal, and held to what they say.
void add_lesson_command(CLI::App& app, CommandContext& context);

}  // namespace meshscope::cli
