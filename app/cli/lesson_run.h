#pragma once

#include <optional>
#include <string>

#include "app/cli/command.h"
#include "app/cli/lesson_variants.h"
#include "core/run/run.h"
#include "core/scenario/scenario.h"

namespace meshscope::cli {

/// Why a lesson's own run cannot be held to its text on this backend, in the program's language; "" where it
/// can. The text of some lessons is true of threads alone (the scenario's only_threads).
std::string lesson_needs_threads(const scenario::Scenario& scenario, const std::string& backend,
                                 const CommandContext& context);

/// The same of a variant: an end that is known exactly only where all ranks are threads of one program (a
/// ring of waits, a rank that ended without a call or stands still) would be a time-out between processes.
std::optional<Message> variant_needs_threads(const scenario::Variant& variant, const std::string& backend);

/// Runs a lesson's scenario as run::run_up_to_failure does. A backend of processes has them started, which
/// run it and leave the merged record; it then holds no parameters. `force`: RunOptions::force. Throws
/// UsageError "cli.lesson.in_launcher" in a process that a launcher started, and what start_processes throws.
run::RunResult run_lesson(const scenario::Scenario& scenario, const std::string& backend,
                          const CommandContext& context, bool force = false);

/// The variants of a lesson, run likewise. One that needs threads is not run on another backend: its problem
/// says so.
LessonVariants lesson_variants(const scenario::Scenario& scenario, const std::string& backend,
                               const CommandContext& context, bool force = false);

}  // namespace meshscope::cli
