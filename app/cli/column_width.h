#pragma once

#include <cstdint>

namespace meshscope::cli {

/// The columns of a terminal that a printable character takes: 2 for what East Asian scripts write and for
/// most emoji, 0 for what is drawn onto the character before it, else 1. Cost: two binary searches.
int column_width(uint32_t code_point);

}  // namespace meshscope::cli
