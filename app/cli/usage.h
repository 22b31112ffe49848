#pragma once

#include <string>
#include <vector>

#include "app/cli/command.h"

namespace meshscope::cli {

/// What was wrong with a command line, as messages in the user's language, "did you mean" included.
/// `error_name` and `detail` are CLI11's (ParseError::get_name() and what()); `extras` the words no option
/// took.
std::vector<std::string> describe_usage_error(const CLI::App& app, int error_code, const std::string& detail,
                                              const CommandContext& context);

}  // namespace meshscope::cli
