#pragma once

#include "app/cli/command.h"

namespace meshscope::cli {

/// `completion bash|zsh|fish`: prints the shell's completion script. The words are this program's own
/// commands, options and values, in the context's language; files are completed where an argument is awaited.
void add_completion_command(CLI::App& app, CommandContext& context);

}  // namespace meshscope::cli
