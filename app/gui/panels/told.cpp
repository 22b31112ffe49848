#include <algorithm>
#include <cstddef>
#include <string>

#include "app/gui/panels/block_drag.h"
#include "app/gui/panels/inline_text.h"
#include "app/gui/panels/panels.h"
#include "app/gui/panels/ui.h"

namespace meshscope::panels {
std::string told(Ui& ui, Memory& memory) {
    std::string text;
    const auto line = [&](const std::string& words) { text += words + '\n'; };
    if (ui.state.error)
        for (const std::string& each : ui.state.error->lines) line(each);
    if (ui.state.toast) line(ui.state.toast->text);
    if (!ui.state.document && ui.state.plan) return text + plan_told(ui);
    if (!ui.state.document) {
        for (const session::LessonCard& card : ui.state.offers) line(ui.pick(card.title));
        return text;
    }
    for (const std::string& why : refused_move(ui, memory)) line(why);
    const auto& steps = ui.state.document->steps;
    const auto at = static_cast<std::size_t>(std::max(0, ui.state.lesson_step));
    if (at < steps.size()) {
        line(ui.pick(steps[at].title));
        line(without_marks(ui.pick(steps[at].body)));
        for (const session::QuizCard& quiz : ui.state.document->quizzes)
            if (quiz.step == steps[at].id) text += quiz_told(ui, memory, quiz);
    }
    return text + view_as_text(ui, memory);
}

}  // namespace meshscope::panels
