#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/gui/sandbox/pipeline_order.h"
#include "app/gui/session/document.h"
#include "app/gui/session/sandbox_state.h"
#include "app/gui/view/memo.h"
#include "app/gui/view/pipeline_blocks.h"

namespace meshscope::session {

struct AppState;

// A block of a pipeline's grid in another place of its rank's row: the run in front is really run with that
// order of actions ([parallel] schedule_order).

/// The question what the run in front would be so. Its answer comes to the front.
inline constexpr const char* kMovedBlock = "moved_block";

/// Block `from` of a lane, to stand before the lane's other blocks from `to` on (0: before all of them).
struct BlockMove {
    std::size_t lane = 0, from = 0, to = 0;
    friend bool operator==(const BlockMove&, const BlockMove&) = default;
};
struct MoveBlock {
    BlockMove move;
};
/// The selected block goes to the nearest place, earlier (-1) or later (1), where ranks can work so.
struct NudgeBlock {
    int direction = 1;
};
/// The order that the schedule itself has is in front again.
struct UsualOrder {};

/// What comes of a move.
struct MoveTried {
    std::optional<AskWhatIf> asks;  ///< nothing where it changes nothing, or is refused
    sandbox::OrderRefusal refusal;
};

/// Runs made of one another by moving blocks.
struct MovedRuns {
    std::vector<std::shared_ptr<const Document>> made;  ///< [0]: as it was before
    std::size_t now = 0;                                ///< which of them is, or was, in front
};
/// So many can be undone.
inline constexpr std::size_t kMostMoves = 24;

/// The grid of the step at the cursor, where its blocks can be moved: the run came to its end, its record
/// has its scenario, no question of the lesson is open. Null where they cannot.
std::shared_ptr<const view::PipelineGrid> movable_grid(const AppState& state, view::Memo* memo = nullptr);
/// Cost: O(actions · log actions).
MoveTried try_move(const AppState& state, const view::PipelineGrid& grid, const BlockMove& move);
/// Which block, and of which lane, this one of a refusal's actions is; nothing where it is none.
std::optional<view::EventRef> block_of(const AppState& state, const view::PipelineGrid& grid,
                                       std::size_t lane, const std::string& action);

/// What is to be run for NudgeBlock, or the move that was refused; neither where no block is selected.
struct Nudged {
    std::optional<AskWhatIf> asks;
    std::optional<BlockMove> refused;
};
Nudged nudge(const AppState& state, int direction);
bool block_is_selected(const AppState& state);

/// The answer is in front, in the place of the run that it was made of, but beside the one before any move.
void add_moved(AppState& state, const RunRequest& request, std::shared_ptr<const Document> answer);
/// The run in front works in an order that is not the schedule's.
bool has_own_order(const AppState& state);
bool can_undo_move(const AppState& state);
bool can_redo_move(const AppState& state);
void undo_move(AppState& state);
void redo_move(AppState& state);
/// What is to be run so that the schedule's own order is in front; nothing where it is so now, or was before
/// the first move: that run is in front again.
std::optional<AskWhatIf> usual_order(AppState& state);

}  // namespace meshscope::session
