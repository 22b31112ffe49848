#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace meshscope {

/// Which members of a group share a node, for collectives of two levels. Members are group ranks.
struct NodeLevels {
    /// `node_of` says on which node each of the `members` stands (any numbers). Where it says nothing
    /// (empty), or puts all on one, there are no two levels to see; then the group is cut in group order into
    /// blocks of b ranks, b the smallest power of two ≥ √members, the last block with what remains: 2 → one
    /// of 2; 4 → 2, 2; 6 → 4, 2; 8 → 4, 4; 11 → 4, 4, 3. Cost: O(members · log nodes).
    NodeLevels(int32_t members, std::span<const int32_t> node_of);

    std::vector<std::vector<int32_t>>
        nodes;                          ///< the members of each, in group order; nodes by their first member
    std::vector<int32_t> node;          ///< by member: which of `nodes`
    std::vector<int32_t> place;         ///< by member: its place in its node
    int32_t largest = 0, smallest = 0;  ///< members of a node

    int32_t n_nodes() const { return static_cast<int32_t>(nodes.size()); }
};

}  // namespace meshscope
