#pragma once

#include <cstdint>

namespace meshscope {

/// Up to this many bytes a direct all_reduce takes one round (everyone reads everyone), beyond it two. A rule
/// of the buffer alone, so that every rank, the cost formulas and the modelled clock say the same.
inline constexpr int64_t kDirectOneRoundBytes = 1024;

}  // namespace meshscope
