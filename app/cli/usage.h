#pragma once

#include <string>
#include <vector>

#include "app/cli/command.h"
#include "core/launch/placement.h"
#include "core/time/profile.h"

namespace meshscope::cli {

/// What was wrong with a command line, as messages in the user's language, "did you mean" included.
/// `error_name` and `detail` are CLI11's (ParseError::get_name() and what()); `extras` the words no option
/// took.
std::vector<std::string> describe_usage_error(const CLI::App& app, int error_code, const std::string& detail,
                                              const CommandContext& context);

/// Refuses a command's options, and arguments of one word, that were given but are "", as "$FOLDER" is where
/// the variable is not set: the command would do something else than was asked. Throws UsageError
/// "cli.run.empty_value" {option}, "cli.empty_argument" {name}.
void refuse_empty_values(const CLI::App& command);

/// Refuses a backend whose ranks are all in one process where a launcher started several processes: each
/// would do the same work. Throws UsageError "cli.run.threads_in_launcher".
void refuse_threads_in_launcher(const std::string& backend, int32_t ranks,
                                const launch::Placement& placement);

/// Refuses a --schedule that make_scheduler() would not take ("" is none), before anything is said or
/// started. Throws UsageError "cli.run.schedule_malformed" {schedule}.
void refuse_bad_schedule(const std::string& schedule);

/// The same for an --init-method of none of the three kinds; the address in one of them is the backend's to
/// read. Throws UsageError "tcp.init_method" {init_method}.
void refuse_bad_init_method(const std::string& init_method);

/// What a --profile names: a .toml file, or a profile of the program's own. Throws UsageError
/// "time.unknown_profile" {name, known}, and what read_profile throws.
time::Profile profile_option(const std::string& word);

}  // namespace meshscope::cli
