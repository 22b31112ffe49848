#pragma once

#include "app/cli/command.h"

namespace meshscope::cli {

/// `bench collectives …`: medians as JSON lines on standard output.
void add_bench_command(CLI::App& app, CommandContext& context);

}  // namespace meshscope::cli
