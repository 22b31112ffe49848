#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/run/checkpoint/chunk.h"

namespace meshscope::run::checkpoint {

/// One piece of a parameter that a rank answers for.
struct Piece {
    int32_t parameter = 0;  ///< its index in the model
    int64_t steps = 0;      ///< how often the optimizer updated it
    int32_t copy = 0;       ///< LocalParameter::copy
    std::vector<Chunk> chunks;

    int64_t n_elements() const;
};

/// What a rank tells the others before a checkpoint is made: which numbers it will save, and what it
/// measured.
struct Layout {
    std::vector<double> losses, grad_norms;
    std::vector<int64_t> strategy_state;
    bool finite = true;  ///< all that it would save
    std::vector<Piece> pieces;
};

/// A layout as whole numbers, which travel in an all_gather, and back. Doubles keep their bits.
std::vector<int64_t> encode(const Layout& layout);
Layout decode(std::span<const int64_t> words);

}  // namespace meshscope::run::checkpoint
