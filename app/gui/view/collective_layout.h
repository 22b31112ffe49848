#pragma once

#include <vector>

#include "app/gui/view/collective_state.h"
#include "app/gui/view/picture.h"

namespace meshscope::view {

/// Where a group's ranks stand while they talk.
struct GroupLayout {
    Rect cell;                  ///< all of it
    std::vector<Rect> members;  ///< card, or the square round the circle
    std::vector<Rect>
        buffers;  ///< beside each circle, where no path runs; empty with cards, which hold theirs
    bool cards = true;
    bool facing = false;  ///< two cards left and right
    bool tight = false;   ///< little room between cards: what travels is a mark alone
    bool row = false;     ///< a ring in one row: the last one's path runs back below
    bool levels = false;  ///< a row a node
    bool tree = false;    ///< hangs from its root: paths run from one level to the next
};

/// How far down a member is: 0 the root; by the hops of the collective, sums on their way up and what is sent
/// down. On the way back an all_reduce may take another tree with the same levels. Empty where a hop does not
/// lead from one level to the next. Cost: O(hops · levels).
std::vector<int32_t> tree_depths(const CollectiveState& state);

/// Two ranks face each other; a tree hangs from its root, each rank over those that send their sums to it; of
/// two levels each node has a row; any others stand round a ring in group order, clockwise from the upper
/// left, as cards while those have room (a ring in flat room: in one row), else as circles with their buffers
/// outside the round. Cost: O(members), of a tree O(hops · levels).
GroupLayout lay_out_group(const CollectiveState& state, Rect cell);

/// The path of a hop from one place to another: in a tree a straight line, else a shallow curve whose two
/// directions do not lie on each other.
struct Path {
    Point a, b, c, d;
};
Path hop_path(const GroupLayout& place, int32_t sender, int32_t receiver);

}  // namespace meshscope::view
