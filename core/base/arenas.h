#pragma once

namespace meshscope {

/// Has malloc keep to so many arenas; nothing where it has one alone. One file for each C library (arenas_glibc.cpp,
/// arenas_one.cpp); CMakeLists.txt chooses.
void keep_to_arenas(int most);

}  // namespace meshscope
