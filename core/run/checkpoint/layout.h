#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/nn/module.h"
#include "core/parallel/strategy.h"

namespace meshscope::run::checkpoint {

using tensor::Shape;

/// A box of a whole array: where it begins along each dim, and its size there (0 in one of them: empty).
/// PyTorch's ChunkStorageMetadata (torch/distributed/checkpoint/metadata.py).
struct Chunk {
    Shape offsets, sizes;

    int64_t n_elements() const;
    friend bool operator==(const Chunk&, const Chunk&) = default;
};

/// The boxes that elements [first, first + n), row-major, of an array of `shape` fall into, in their order:
/// one for whole rows; for a range that begins or ends within a row (a flat parameter's) up to two more a
/// dim. n = 0 gives one empty box at `first`.
std::vector<Chunk> chunks_of_range(const Shape& shape, int64_t first, int64_t n);

/// The boxes of the whole parameter that a rank's part of it fills, in the order of the part's elements.
std::vector<Chunk> chunks_of(const parallel::LocalParameter& local);

/// Copies what two boxes of one array have in common from the numbers of the one (row-major within it) to
/// those of the other. Returns how many elements that were. Cost: one memcpy a common row.
int64_t copy_common(const Chunk& from, std::span<const float> from_numbers, const Chunk& to,
                    std::span<float> to_numbers);

/// Whether a box lies inside an array of this shape (with as many dims).
bool inside(const Chunk& chunk, const Shape& shape);

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
