#pragma once

#include "app/gui/panels/panels.h"

namespace meshscope::panels {

/// Dragging a block of a pipeline's grid to another place in its rank's row; called right after
/// picture_panel() has drawn the grid at `origin`. While it is dragged, the new order is checked and it is
/// told what a release does: the run in front is really run so (session::MoveBlock), or why ranks cannot work
/// so, with who would wait for whom. The latter stays beside the block until something else is done.
void drag_block(Ui& ui, Memory& memory, const view::Picture& grid, Point origin);
/// A block was taken along: a release is no click.
bool drags_block(Memory& memory);

}  // namespace meshscope::panels
