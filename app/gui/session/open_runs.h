#pragma once

#include "app/gui/session/app_state.h"

namespace meshscope::session {

// What is open: the document in front and the runs beside it, and where in the lesson the reader is.

/// Goes to a step of the lesson in front, and to what it speaks of; nothing where there is none.
void enter_lesson_step(AppState& state, int32_t index);
/// The step's own run is in front (a variant's, where it names one and its question is answered), or the
/// lesson's; nothing where that is so already, or no lesson is in front.
void show_run_of_step(AppState& state, bool of_step);
/// The lesson of the run in front: itself, or the one for whose step a variant's run is there.
std::shared_ptr<const Document> own_run(const AppState& state);
/// Only this document is open; null: none.
void show(AppState& state, std::shared_ptr<const Document> document);
/// The front stays where the others view it, at the same part of the same step.
void bring_to_front(AppState& state, std::size_t run);
/// The open lesson is in front again, at the step where it was left, and nothing stands before it.
void back_to_lesson(AppState& state);
/// It is the newest of what was open lately; nothing where no path opens it again.
void remember_opened(AppState& state, const std::string& path, const std::string& name);
/// The view that shows how a run ended early: the mesh where there is something to mark on it, else the
/// timeline.
view::ViewKind view_of_end(const view::RunEnd& end);
/// The cursor, the selection and the timeline go to where the run in front ended early; nothing where it did
/// not.
void go_to_end(AppState& state);
void close_run(AppState& state, std::size_t run);
/// What a held run recorded so far takes the place of what it had recorded before, and stays in front.
void show_live(AppState& state, const ShowLive& action);
/// As much of a place as what is open still has.
void restore(AppState& state, const Viewpoint& place);

}  // namespace meshscope::session
