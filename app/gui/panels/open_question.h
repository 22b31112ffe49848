#pragma once

#include <cstdint>

#include "app/gui/session/app_state.h"
#include "app/gui/view/mesh_view.h"

namespace meshscope::panels {

/// The lesson step's first question that has not been revealed yet; null when there is none. O(quizzes).
const session::QuizCard* open_question(const session::AppState& state);

/// True while the open question's answer is this number: what shows it leaves it out.
bool asked_for(const session::AppState& state, int64_t number);

/// What the mesh's table and facts leave out so that they do not answer the open question.
void cover(const session::AppState& state, view::MeshOptions& options);

}  // namespace meshscope::panels
