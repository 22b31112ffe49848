#pragma once

#include <cstdint>

namespace meshscope::comm {

/// Up to this many bytes a direct all_reduce takes one round (everyone reads everyone), beyond it two (each
/// reduces its part and gives it to all). Two ranks move as many bytes either way, and their caches have less
/// to do in two rounds. A rule of buffer and ranks alone, so that every rank, the cost formulas and the
/// modelled clock say the same.
constexpr int64_t direct_one_round_bytes(int32_t ranks) {
    return ranks == 2 ? 256 : 1024;
}

}  // namespace meshscope::comm
