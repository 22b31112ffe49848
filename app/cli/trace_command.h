#pragma once

#include "app/cli/command.h"

namespace meshscope::cli {

/// `trace info FILE [--json]`: what a trace holds.
/// `trace query FILE SQL [--json|--csv]`: one SELECT over it, as a table by default.
/// `trace export perfetto|csv FILE -o OUT [--what VIEW]`: for other programs; OUT "-" is standard output.
/// `trace recover FILE [-o OUT]`: a trace from what the ranks of a killed run left.
void add_trace_command(CLI::App& app, CommandContext& context);

}  // namespace meshscope::cli
