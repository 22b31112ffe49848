#pragma once

#include "app/cli/command.h"
#include "app/cli/divergence.h"
#include "core/memory/ledger.h"
#include "core/scenario/evaluate.h"

namespace meshscope::cli {

/// `run SCENARIO`: really trains it, writes what was asked for, and evaluates its checks.
void add_run_command(CLI::App& app, CommandContext& context);

/// Runs a scenario with a progress bar on a terminal (unless `quiet`); Ctrl-C ends it after the present step.
run::RunResult run_with_progress(const scenario::Scenario& scenario, const CommandContext& context,
                                 run::RunOptions options, bool quiet);
/// The same for a lesson, whose faults may end it: run::run_up_to_failure.
run::RunResult run_lesson_with_progress(const scenario::Scenario& scenario, const CommandContext& context,
                                        run::RunOptions options);

/// What made a peak, its phase in the reader's language: "linear net2 backward". Empty where nothing did.
std::string cause_words(const memory::Peak& peak, const CommandContext& context);

/// A check's title in the language, else its id.
std::string check_name(const std::string& id, const scenario::Text& title, const CommandContext& context);

/// A table of losses (and gradient norms, and what evaluations came to), long runs shortened in the middle.
void print_losses(const trace::Trace& trace, const CommandContext& context,
                  const std::vector<run::Evaluated>& evaluations = {});

/// One line a check; true when all passed.
bool print_checks(const std::vector<scenario::CheckResult>& checks, const CommandContext& context);

}  // namespace meshscope::cli
