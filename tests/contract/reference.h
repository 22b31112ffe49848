#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/base/kinds.h"

/// The collectives' answers by plain loops on one thread, in the order of reduction that each algorithm
/// states. Nothing of core/comm is used here but the shape of NCCL's two trees.
namespace meshscope::contract {

using Bytes = std::vector<std::byte>;

/// The reduce ops that a dtype has.
std::vector<ReduceOp> reduce_ops_of(DType dtype);

/// n numbers that differ by rank and place: fractions whose sums round, for floats; all bits in use, for
/// integers.
Bytes input_of(DType dtype, int32_t rank, int64_t n);

/// The order in which an algorithm adds the ranks' numbers.
enum class Order {
    by_rank,  ///< 0, 1, …, p-1; bfloat16 rounded once at the end
    ring,     ///< c+1, c+2, …, c for the element's chunk c; rounded after each
    tree,     ///< the binomial tree with its root; rounded after each
    near,     ///< recursive doubling: folded to a power of two, then neighbours first; rounded after each
    far,      ///< halving-doubling: folded, then those far apart first; rounded after each
    swing,  ///< folded, then G(v, s+1) = G(partner, s) + G(v, s) for the chunk's place v; rounded after each
    rings,  ///< the parts of double_ring's rings, each around its own; rounded after each
    two_level,        ///< around the ring of each node, then around the nodes; rounded after each
    two_level_parts,  ///< the same where chunk c is what the rank c keeps; nodes of different sizes: as ring
    double_tree,      ///< each half up its own tree of NCCL's, first come first added; rounded after each
};

/// The order that the card of `ran`, the algorithm that really runs for `op`, states.
Order order_of(CollectiveOp op, Algorithm ran);

/// Reduces inputs[rank] element by element. `chunk_of[i]` is element i's chunk (Order::ring and
/// two_level_parts); `root` Order::tree's; `node_of` Order::two_level's and two_level_parts' nodes, numbered
/// 0, 1, … as they come (empty: blocks of the smallest power of two ≥ √p).
Bytes reduced(DType dtype, ReduceOp op, double factor, const std::vector<Bytes>& inputs, Order order,
              const std::vector<int32_t>& chunk_of, int32_t root = 0, std::vector<int32_t> node_of = {});

/// torch.chunk's chunk of each of n elements among p.
std::vector<int32_t> chunks_of(int64_t n, int32_t p);

/// Elements [first, first + n) of a buffer.
Bytes piece(const Bytes& bytes, DType dtype, int64_t first, int64_t n);

}  // namespace meshscope::contract
