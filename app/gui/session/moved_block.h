#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/gui/sandbox/pipeline_order.h"
#include "app/gui/session/sandbox_state.h"
#include "app/gui/view/memo.h"
#include "app/gui/view/pipeline_blocks.h"

namespace meshscope::session {

struct AppState;

// A block of a pipeline's grid in another place of its rank's row: the run in front is really run with that
// order of actions ([parallel] schedule_order). What comes of it is in move_history.h.

/// The question what the run in front would be so. Its answer comes to the front.
inline constexpr const char* kMovedBlock = "moved_block";

/// Block `from` of a lane, to stand before the lane's other blocks from `to` on (0: before all of them). A
/// backward whose halves are two blocks is moved whole: neither of them is one of the others.
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

/// A grid whose blocks can be moved, and of each lane's blocks the places of their actions in its rank's row.
struct MovableGrid {
    std::shared_ptr<const view::PipelineGrid> grid;
    std::vector<std::vector<std::size_t>> actions;  ///< by lane and block; of two halves of one the same

    bool has(const BlockMove& move) const {
        return move.lane < actions.size() && move.from < actions[move.lane].size();
    }
    /// Whether two blocks of a lane are one action.
    bool are_one(std::size_t lane, std::size_t a, std::size_t b) const {
        return actions[lane][a] == actions[lane][b];
    }
    /// How many other blocks its lane has; before how many of them a block stands now.
    std::size_t others(std::size_t lane, std::size_t block) const;
    std::size_t own_place(std::size_t lane, std::size_t block) const;
};

/// What comes of a move.
struct MoveTried {
    std::optional<AskWhatIf> asks;  ///< nothing where it changes nothing, or is refused
    sandbox::OrderRefusal refusal;
};

/// Blocks stay where they are, and no order is taken back: a film or an export is made, ranks are held, the
/// sandbox is open, or a question of the lesson is.
bool blocks_stay(const AppState& state);
/// The grid of the step at the cursor, where its blocks can be moved: the run came to its end, its record
/// has its scenario, and they need not stay. Nothing where they cannot. Cost: pipeline_grid()'s, and O(blocks
/// + actions).
std::optional<MovableGrid> movable_grid(const AppState& state, view::Memo* memo = nullptr);
/// Cost: O(actions · log actions).
MoveTried try_move(const AppState& state, const MovableGrid& grid, const BlockMove& move);
/// Which of a lane's blocks this one of a refusal's actions is, of halves the first; nothing where it is
/// none.
std::optional<std::size_t> block_of(const AppState& state, const MovableGrid& grid, std::size_t lane,
                                    const std::string& action);

/// What is to be run for NudgeBlock, or the move that was refused; neither where no block is selected.
struct Nudged {
    std::optional<AskWhatIf> asks;
    std::optional<BlockMove> refused;
};
Nudged nudge(const AppState& state, int direction);
bool block_is_selected(const AppState& state);

/// The grid of a run in a step, on the clock and round the rank that are on show; null where it has none.
std::shared_ptr<const view::PipelineGrid> shown_grid(const AppState& state, const Document& run, int32_t step,
                                                     view::Memo* memo = nullptr);
/// The step of a run at the cursor; during set-up the first.
int32_t step_at_cursor(const AppState& state, const Document& run, view::Memo* memo = nullptr);
/// The lane and the block that an event belongs to.
std::optional<std::pair<std::size_t, std::size_t>> find_block(const view::PipelineGrid& grid,
                                                              const view::Selection& selection);

}  // namespace meshscope::session
