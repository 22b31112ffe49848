#pragma once

#include <string>

#include "app/cli/command.h"

namespace meshscope::cli {

/// What to say of a number that is no longer finite.
std::string not_finite_text(const run::NotFinite& found, const CommandContext& context);

/// Whether `save` was asked for ("": it was not) and is not written, because `weights =` would refuse it.
bool save_was_refused(const run::RunResult& result, const std::string& save);

/// Of a run that came to NaN or Inf: that its weights are not written, and, where it is no failure, that it
/// came so.
void tell_divergence(const run::RunResult& result, const std::string& save, bool is_no_failure,
                     const CommandContext& context);

/// The last thing that a run does, when its outputs are written and its checks are told: throws Error
/// "run.not_finite…" where it came to NaN or Inf, which nobody `expected`. Where somebody did, only weights
/// that are not written are a failure: context.exit_code.
void throw_divergence(const run::RunResult& result, const std::string& save, bool expected,
                      CommandContext& context);

}  // namespace meshscope::cli
