#pragma once

#include <string>

#include "app/cli/command.h"
#include "core/run/run.h"

namespace meshscope::cli {

/// What a run came to, as one line: ranks, the steps that it ran itself and those before it, collectives and
/// bytes of all ranks as far as they were recorded.
std::string run_totals(const run::RunResult& result, const CommandContext& context);

}  // namespace meshscope::cli
