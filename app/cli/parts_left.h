#pragma once

#include <string>

#include "app/cli/command.h"

namespace meshscope::cli {

/// Where a run could not write its trace: tells on stderr what its ranks left beside it, how much of it can
/// be recovered and by which command. Silent where nothing was left. Cost: reads the part files, one by one.
void tell_parts_left(const std::string& trace, const CommandContext& context);

}  // namespace meshscope::cli
