#pragma once

#include "app/cli/command.h"
#include "core/run/run.h"

namespace meshscope::cli {

/// Runs a scenario with a progress bar on a terminal (unless `quiet`); Ctrl-C ends it after the present step.
run::RunResult run_with_progress(const scenario::Scenario& scenario, const CommandContext& context,
                                 run::RunOptions options, bool quiet);
/// The same for a lesson, whose faults may end it: run::run_up_to_failure.
run::RunResult run_lesson_with_progress(const scenario::Scenario& scenario, const CommandContext& context,
                                        run::RunOptions options);

}  // namespace meshscope::cli
