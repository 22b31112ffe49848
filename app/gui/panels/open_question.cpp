#include "app/gui/panels/open_question.h"

#include <cstdlib>

namespace meshscope::panels {

const session::QuizCard* open_question(const session::AppState& state) {
    if (!state.document || state.document->steps.empty()) return nullptr;
    const session::LessonStep& step = state.document->steps[static_cast<size_t>(state.lesson_step)];
    for (const session::QuizCard& quiz : state.document->quizzes) {
        const auto found = state.quizzes.find(quiz.id);
        const bool revealed = found != state.quizzes.end() && found->second.revealed;
        if (quiz.step == step.id && !revealed) return &quiz;
    }
    return nullptr;
}

bool asked_for(const session::AppState& state, int64_t number) {
    const session::QuizCard* quiz = open_question(state);
    return quiz != nullptr && quiz->kind == "number" &&
           std::atof(quiz->answer.c_str()) == static_cast<double>(number);
}

void cover(const session::AppState& state, view::MeshOptions& options) {
    const session::QuizCard* quiz = open_question(state);
    if (quiz == nullptr) return;
    options.covered = quiz->kind == "ranks" || quiz->kind == "order" || !state.selection.slice.empty();
    if (quiz->kind == "number") options.asked = std::atof(quiz->answer.c_str());
}

}  // namespace meshscope::panels
