#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/gui/panels/panels.h"
#include "app/gui/session/moved_block.h"

namespace meshscope::panels {

/// Dragging a block of a pipeline's grid to another place in its rank's row; called right after
/// picture_panel() has drawn the grid at `origin`. While it is dragged, the new order is checked and it is
/// told what a release does: the run in front is really run so (session::MoveBlock), or why ranks cannot work
/// so, with who would wait for whom. The latter stays beside the block until something else is done. Let go
/// where it was, the block is selected; let go further from its row than that is high, nothing is done.
/// `movable`: the grid of this frame; nothing: its blocks stay where they are.
void drag_block(Ui& ui, Memory& memory, const std::optional<session::MovableGrid>& movable,
                const view::Picture& picture, Point origin);
/// A block was taken along: a release is no click.
bool drags_block(Memory& memory);
/// The block that is taken along stays where it was; false where none is.
bool give_up_drag(Memory& memory);
/// Why ranks cannot work in the order that was asked for last, in lines; none where nothing was refused.
std::vector<std::string> refused_move(const Ui& ui, Memory& memory);

}  // namespace meshscope::panels
