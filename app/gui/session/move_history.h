#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "app/gui/session/document.h"
#include "app/gui/session/sandbox_state.h"

namespace meshscope::session {

struct AppState;

// Runs made by moving blocks (moved_block.h): which of them is in front, undone and redone. A move is one
// step, however many blocks of the grid its action is.

/// Runs made of one another, [0]: as it was before any move. Which of them is in front says how far it is
/// undone.
struct MovedRuns {
    std::vector<std::shared_ptr<const Document>> made;
};
/// So much of their records, with both clocks, is kept for undoing.
inline constexpr int64_t kMostMovedBytes = int64_t{256} << 20;
/// What a run's record and its clocks take in memory, bytes. Cost: a few numbers a rank.
int64_t kept_bytes(const Document& run);
/// Forgets the oldest moves until those that are left take no more than that; what all began with, and the
/// latest, stay.
void keep_within(MovedRuns& moved, int64_t most_bytes);

/// Where in the history the run in front stands. Nothing where it is none of it, and where the first of it
/// was brought to the front beside one that was made of it: a move of that begins a history of its own.
std::optional<std::size_t> place_in_history(const AppState& state);
/// Which of the runs that were made is open; nothing where none is.
std::optional<std::size_t> open_moved(const AppState& state);

/// The answer is in front, in the place of the run that it was made of, but beside the one before any move.
void add_moved(AppState& state, const RunRequest& request, std::shared_ptr<const Document> answer);
bool can_undo_move(const AppState& state);
bool can_redo_move(const AppState& state);
void undo_move(AppState& state);
void redo_move(AppState& state);
/// The run in front works in an order that is not the schedule's, and can be asked what it would be in that.
bool can_ask_usual_order(const AppState& state);
/// What is to be run so that the schedule's own order is in front; nothing where it is so now, or was before
/// the first move: that run is in front again.
std::optional<AskWhatIf> usual_order(AppState& state);

}  // namespace meshscope::session
