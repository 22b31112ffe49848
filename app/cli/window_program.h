#pragma once

#include <string>
#include <vector>

#include "app/cli/command.h"

namespace meshscope::cli {

/// Runs meshscope-app, which stands beside this program, with these words and the terminal's own output, and
/// takes its exit code over. Ctrl-C ends it in order, and this waits for it. Where it is missing that is told
/// ("export.no_window_program") and the exit code is backend_missing. Throws IoError when it cannot be
/// started.
void run_window_program(const std::vector<std::string>& words, const std::string& format,
                        CommandContext& context);

}  // namespace meshscope::cli
