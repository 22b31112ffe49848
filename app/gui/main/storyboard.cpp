#include "app/gui/main/storyboard.h"

#include <algorithm>
#include <cmath>

#include "app/gui/panels/views.h"
#include "app/gui/session/actions.h"

namespace meshscope::gui {
namespace {

/// Where the cursor goes in a step of the lesson; nothing where it would not be seen to move.
std::optional<time::Interval> span_of(const session::Document& document, const time::Clock& clock,
                                      const session::LessonStep& step) {
    const panels::FilmSpan film = panels::view_of(step.view).film;
    if (!step.at || film == nullptr) return {};
    return film(document, clock, *step.at);
}

}  // namespace

bool tours_lesson(const Options& options, const session::Document& document, int frames) {
    const bool whole = options.from.value_or(0) == 0 && options.to.value_or(1) == 1;
    const bool placed = options.view || options.rank || options.at || options.lesson_step >= 0;
    return !document.steps.empty() && frames > 1 && whole && !placed;
}

std::optional<view::ViewKind> usual_film_view(const Options& options, int frames) {
    if (options.view || options.lesson_step >= 0 || frames <= 1 || !options.beside.empty()) return {};
    return view::ViewKind::timeline;
}

std::shared_ptr<const session::Document> without_questions(const session::Document& document) {
    auto film = std::make_shared<session::Document>(document);
    film->quizzes.clear();
    film->before.clear();
    std::erase_if(film->steps, [](const session::LessonStep& step) { return !step.part.empty(); });
    return film;
}

std::vector<Shot> storyboard(const session::Document& document, const time::Clock& clock, int frames) {
    std::vector<Shot> shots;
    int64_t weight = 0;
    std::vector<int64_t> ends;
    for (std::size_t i = 0; i < document.steps.size(); ++i) {
        Shot shot;
        shot.step = static_cast<int32_t>(i);
        const auto span = span_of(document, clock, document.steps[i]);
        if (span) {
            shot.from_ns = span->begin_ns;
            shot.to_ns = span->end_ns;
        }
        weight += span ? 2 : 1;
        ends.push_back(weight);
        shots.push_back(shot);
    }
    int begin = 0;
    for (std::size_t i = 0; i < shots.size(); ++i) {
        const int end = static_cast<int>((ends[i] * frames + weight / 2) / weight);
        shots[i].frames = end - begin;
        shots[i].still = std::max(1, shots[i].frames / 5);
        begin = end;
    }
    std::erase_if(shots, [](const Shot& shot) { return shot.frames == 0; });
    return shots;
}

bool Projector::advance(Stage& stage) {
    if (shot_ >= shots_.size()) return false;
    const Shot& shot = shots_[shot_];
    const bool begins = frame_ == 0 && shot.step;
    if (begins) stage.act(session::GoToLessonStep{*shot.step});
    if (shot.from_ns && shot.to_ns) {
        const int moving = shot.frames - shot.still;
        const double part =
            frame_ < shot.still || moving <= 0 ? 0.0 : static_cast<double>(frame_ - shot.still + 1) / moving;
        const auto length = static_cast<double>(*shot.to_ns - *shot.from_ns);
        stage.act(session::SetCursor{*shot.from_ns + std::llround(part * length)});
    }
    if (++frame_ >= shot.frames) {
        ++shot_;
        frame_ = 0;
    }
    return begins;
}

}  // namespace meshscope::gui
