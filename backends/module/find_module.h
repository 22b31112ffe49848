#pragma once

#include <string>
#include <string_view>

namespace meshscope::backends {

/// Where a module of this build lies (a shared object that is opened when it is needed, named by its file):
/// beside the program, in ../lib, in ../lib/meshscope or where the build put it; "" where it was not built.
/// Cost: a few file look-ups.
std::string find_module(std::string_view file);

}  // namespace meshscope::backends
