#pragma once

#include <fstream>
#include <string>

#include "tests/folder.h"

namespace meshscope::trace::example {

using test::content;
using test::Folder;

inline void put(const std::string& path, const std::string& bytes) {
    std::ofstream(path, std::ios::binary) << bytes;
}

}  // namespace meshscope::trace::example
