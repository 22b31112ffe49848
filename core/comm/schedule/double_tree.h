#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace meshscope::comm {

/// Two binary trees over p ≥ 2 ranks in which (almost) every inner rank of one is a leaf of the other, so
/// that both together keep every rank's two directions busy; and the rounds in which a pipeline of chunks
/// climbs them.
///
/// Tree 0 is NCCL's: rank 0 the root with one child; any other rank stands at the height of its lowest set
/// bit, between the ranks below it on both sides. Tree 1 is the same for the ranks mirrored (p even: p-1-r)
/// or shifted by one (p odd).
///
/// Rounds: the edge from a rank to its parent carries chunk c in round up(tree, rank) + stride·c. Edges are
/// coloured even and odd so that the edges that leave one rank differ, and those that come into one rank
/// differ: hence in each round a rank sends at most once and receives at most once. Such colours exist
/// because every rank has at most two of either kind. up() is the earliest round of the edge's colour after
/// its rank's children's. On the way down the edge carries chunk c in round height - up + stride·c: the same,
/// backwards. With two ranks there is one edge each way: stride 1.
///
/// Source: Sanders, Speck, Träff, "Two-tree algorithms for full bandwidth broadcast, reduction and scan",
/// 2009; the trees: NCCL, src/graph/trees.cc. Cost to make: O(p · log p).
class DoubleTree {
  public:
    explicit DoubleTree(int32_t ranks);

    /// -1 for the root.
    int32_t parent(int32_t tree, int32_t rank) const { return at(tree, rank).parent; }
    /// -1 where there is none; the lower child of tree 0 (its mirror or shift in tree 1) first.
    std::array<int32_t, 2> children(int32_t tree, int32_t rank) const { return at(tree, rank).children; }
    int32_t root(int32_t tree) const { return roots_[static_cast<std::size_t>(tree)]; }
    /// The round of the first chunk from `rank` (no root) to its parent.
    int32_t up(int32_t tree, int32_t rank) const { return at(tree, rank).up; }
    /// The latest up() of all: what the last chunk waits before its last edge, but for the chunks before it.
    int32_t height() const { return height_; }
    /// Rounds between two chunks on an edge: 2; 1 for two ranks.
    int32_t stride() const { return stride_; }
    /// Rounds until `chunks` of each tree have climbed (or, the other way, come down): height + 1 +
    /// stride·(chunks-1).
    int32_t rounds(int32_t chunks) const { return height_ + 1 + stride_ * (chunks - 1); }

  private:
    struct Place {
        int32_t parent = -1;
        std::array<int32_t, 2> children{-1, -1};
        int32_t colour = -1, up = 0;
    };
    const Place& at(int32_t tree, int32_t rank) const {
        return trees_[static_cast<std::size_t>(tree)][static_cast<std::size_t>(rank)];
    }
    Place& at(int32_t tree, int32_t rank) {
        return trees_[static_cast<std::size_t>(tree)][static_cast<std::size_t>(rank)];
    }
    void plant();
    void colour();
    int32_t time(int32_t tree, int32_t rank);

    int32_t p_;
    std::array<std::vector<Place>, 2> trees_;
    std::array<int32_t, 2> roots_{};
    int32_t height_ = 0, stride_ = 2;
};

}  // namespace meshscope::comm
