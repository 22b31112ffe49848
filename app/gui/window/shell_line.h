#pragma once

#include <string>
#include <vector>

namespace meshscope::window {

/// A program and its arguments as one line for a shell, quoted where needed.
std::string as_shell_line(const std::vector<std::string>& command);

}  // namespace meshscope::window
