#pragma once

#include "app/gui/session/app_state.h"

namespace meshscope::session {

// The time cursor and the selection of the state, and what of the timeline is shown around it. Times are
// clamped to the shown clock.

void move_cursor(AppState& state, int64_t t_ns);
/// Where the cursor will rest: a second press while it glides starts from where the first one leads, so that
/// fast presses are not lost.
int64_t resting_time(const AppState& state);
/// Whether the cursor stands, or will rest, in the selected event, or in what another member of its group
/// does of the same call; `end_too`: where it ends, too, which is where the next one may begin. False without
/// an event.
bool cursor_on_selected(const AppState& state, bool end_too = true);
/// One row down (`rows`) or one cell to the right (`columns`), in a view whose selection has such.
void move_selection(AppState& state, int rows, int columns);
/// Goes there in so many seconds at speed 1; at once with reduced motion.
void glide_to(AppState& state, int64_t t_ns, double seconds);
/// The same place of the run on another clock: as far into the event under the cursor as before.
int64_t carry_over(const AppState& state, const time::Clock& from, const time::Clock& to);
/// Plays from the cursor, from the end of the run anew. In the mesh, which stands still, the view changes to
/// the one that shows what comes next.
void start_playing(AppState& state);
/// So much time has passed: glides, plays, lets toasts go.
void tick(AppState& state, double seconds);
/// The timeline shows one training step: wide enough to read its bars.
void show_step(AppState& state, int32_t step);
/// A range that the cursor has left turns to the page where it is.
void follow_cursor(AppState& state);

}  // namespace meshscope::session
