#pragma once

#include <string>

#include "app/cli/command.h"

namespace meshscope::cli {

std::string version_number();    ///< "0.1.0"
std::string version_git_hash();  ///< short hash of the commit it was built from, "" outside a checkout
std::string version_compiler();  ///< "GCC 12.2.0"
std::string version_build_type();

/// The lines of --version: number, git hash, compiler, backends of this build.
std::string version_text(const CommandContext& context);

}  // namespace meshscope::cli
