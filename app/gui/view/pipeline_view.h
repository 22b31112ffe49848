#pragma once

#include <string>
#include <vector>

#include "app/gui/view/input.h"

namespace meshscope::view {

struct PipelineOptions {
    bool slots = true;        ///< the axis counts slots (PipelineGrid), else the clock's time
    bool sums = true;         ///< false: what sums up the step is left out, as a question asks for it
    bool both_clocks = true;  ///< the other clock exists: it can be chosen
    std::string name;         ///< of the run in front
    bool movable = false;     ///< its blocks can be taken to other places
    bool moving = false;      ///< that is being run
    bool can_undo = false, can_redo = false;  ///< a move of a block
    std::string usual;                        ///< the schedule whose order it had before; "": it has it
    std::vector<RunBeside> beside;            ///< other runs, laid below on the same axis
};

/// The micro-batches of the step at the cursor on the ranks of a pipeline: a lane a rank, a block a forward
/// (F), backward (B) or weight gradient (W), its micro-batch by number and colour; idle time hatched with
/// its length; beside the lane's name the activations held at the cursor, of the most ever held. The picture
/// may be higher than the size: the panel scrolls.
///
/// In slots each rank has a place of its own at a moment of the clock, so the cursor is a line through those
/// places. Ids: "event" a = rank, b = the block's first event, or the receive that an idle rank waits in;
/// "rank" a = rank; "form" a = Form; "grid_clock" a = time::ClockKind; "undo_move",
/// "redo_move", "usual_order", "stop_move"; "cursor"; blocks of the other runs "block". Cost: O(blocks), with
/// pipeline_grid()'s.
Picture pipeline_view(const Input& input, const PipelineOptions& options = {});

}  // namespace meshscope::view
