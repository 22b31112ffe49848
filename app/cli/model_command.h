#pragma once

#include "app/cli/command.h"

namespace meshscope::cli {

/// `model show`: what a model is made of, in words or as JSON: parameters by part, heads, the cost of a
/// token, bytes.
void add_model_command(CLI::App& app, CommandContext& context);

}  // namespace meshscope::cli
