#pragma once

#include <string>
#include <string_view>

namespace meshscope {

/// Where a module of this build lies (a shared object that is opened when it is needed, named by its file):
/// beside the program, in ../lib, in ../lib/meshscope or where the build put it; "" where it was not built.
/// Cost: a few file look-ups.
std::string find_module(std::string_view file);

/// Opens a module (dlopen), its names for itself alone: no other library shall find its functions. Null where
/// that fails, and `reason`. Throws std::bad_alloc where it is memory that lacks.
void* open_module(const std::string& path, std::string& reason);

}  // namespace meshscope
