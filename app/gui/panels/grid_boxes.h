#pragma once

#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "app/gui/session/moved_block.h"
#include "app/gui/view/picture.h"

namespace meshscope::panels {

/// Where the blocks of a grid stand in a picture of it. Positions are the picture's.
class GridBoxes {
  public:
    /// Cost: one pass over the picture's shapes, O(lanes + log blocks) each.
    GridBoxes(const session::MovableGrid& grid, const view::Picture& picture);

    /// Round all blocks that are one action with this one, and next to it; nothing for a block that the
    /// picture does not show.
    std::optional<view::Rect> round(std::size_t lane, std::size_t block) const;
    /// The lane and the block under a point.
    std::optional<std::pair<std::size_t, std::size_t>> at(view::Point point) const;
    /// Before how many of the lane's other blocks one with its middle at `x` stands.
    std::size_t place_at(std::size_t lane, std::size_t from, float x) const;
    /// The edge of a move's place among the others.
    float edge_of(const session::BlockMove& move) const;

  private:
    const session::MovableGrid& grid_;
    std::vector<std::vector<std::optional<view::Rect>>> boxes_;  ///< by lane and block
};

}  // namespace meshscope::panels
