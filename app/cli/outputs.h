#pragma once

#include <string>
#include <vector>

#include "core/scenario/scenario.h"

namespace meshscope::cli {

/// Work may take long: whether its outputs can be written, hit nothing that is read and not each other, is
/// found out before. "" and "-" are no files. Throws InvalidArgument "file.output_is_input", UsageError
/// "cli.run.same_output", IoError "cli.run.folder_not_writable", "file.cannot_write" (a folder has that
/// name), "file.not_regular_output". Leaves nothing behind.
void check_outputs(const std::vector<std::string>& outputs, const std::vector<std::string>& inputs);

/// The same for the folder that the scenario's checkpoints go to, if any, which need not exist yet: what is
/// there of its path must be a folder that takes new ones. Throws IoError "cli.run.folder_not_writable".
void check_checkpoint_folder(const scenario::Scenario& scenario);

/// Every file that a run of the scenario reads: itself, its weights, its data.
std::vector<std::string> inputs_of(const scenario::Scenario& scenario);

}  // namespace meshscope::cli
