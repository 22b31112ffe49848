#pragma once

#include <string>

namespace meshscope::test {

// Where the tree lies that the tests were built from, and what was built. One file is told (places.cpp), so
// all others compile to the same code in every clone, and the compiler's cache serves them all.

/// The project's root.
std::string source_root();
/// tests/golden, where PyTorch's answers lie.
std::string golden_folder();
/// Where the programs lie.
std::string bin_folder();

}  // namespace meshscope::test
