#pragma once

#include "app/cli/command.h"

namespace meshscope::cli {

/// `doctor [--json]`: what this machine has. Cheap checks only: nothing is started but `ffmpeg` is looked up.
void add_doctor_command(CLI::App& app, CommandContext& context);

}  // namespace meshscope::cli
