#pragma once

#include <string>
#include <vector>

#include "core/scenario/scenario.h"

namespace meshscope::cli {

/// Work may take long: whether its outputs can be written, hit nothing that is read and not each other, is
/// found out before. "" and "-" are no files. Throws InvalidArgument "file.output_is_input", UsageError
/// "cli.run.same_output", IoError "cli.run.folder_not_writable".
void check_outputs(const std::vector<std::string>& outputs, const std::vector<std::string>& inputs);

/// Every file that a run of the scenario reads: itself, its weights, its data.
std::vector<std::string> inputs_of(const scenario::Scenario& scenario);

}  // namespace meshscope::cli
