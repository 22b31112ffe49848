#pragma once

#include <string>
#include <vector>

#include "core/base/file_kind.h"
#include "core/scenario/scenario.h"

namespace meshscope::cli {

/// A file that a command is to write; "" and "-" are none.
struct Output {
    std::string path;
    FileKind kind = FileKind::json;
};

/// Work may take long: whether its outputs can be written, hit nothing that is read and not each other, and
/// take no other kind of file's place (unless `force`), is found out before. Throws InvalidArgument
/// "file.output_is_input", "file.other_kind", UsageError "cli.run.same_output", IoError
/// "cli.run.folder_not_writable", "file.cannot_write" (a folder has that name), "file.not_regular_output".
/// Leaves nothing behind.
void check_outputs(const std::vector<Output>& outputs, const std::vector<std::string>& inputs, bool force);

/// The same for the folder that the scenario's checkpoints go to, if any, which need not exist yet: what is
/// there of its path must be a folder that takes new ones. Throws IoError "cli.run.folder_not_writable".
void check_checkpoint_folder(const scenario::Scenario& scenario);

/// Every file that a run of the scenario reads: itself, its weights, its data.
std::vector<std::string> inputs_of(const scenario::Scenario& scenario);

}  // namespace meshscope::cli
