#pragma once

#include "app/cli/command.h"

namespace meshscope::cli {

/// `sampler --samples N --world W`: which samples and batches each rank sees, as PyTorch's
/// DistributedSampler and BatchSampler deal them.
void add_sampler_command(CLI::App& app, CommandContext& context);

}  // namespace meshscope::cli
