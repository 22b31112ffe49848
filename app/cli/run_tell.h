#pragma once

#include <string>
#include <vector>

#include "app/cli/command.h"
#include "core/memory/ledger.h"
#include "core/run/run.h"
#include "core/scenario/evaluate.h"
#include "core/trace/trace.h"

namespace meshscope::cli {

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
