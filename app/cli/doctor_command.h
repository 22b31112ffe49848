#pragma once

#include "app/cli/command.h"

namespace meshscope::cli {

/// `doctor [--json]`: what this machine has. Cheap checks only: nothing is started but `ffmpeg` is looked up.
/// `doctor --nccl [--ranks N] [--json]`: runs each collective over NCCL and compares; exit code 1 when a
/// number is wrong.
void add_doctor_command(CLI::App& app, CommandContext& context);

}  // namespace meshscope::cli
