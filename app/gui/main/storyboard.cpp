#include "app/gui/main/storyboard.h"

#include <algorithm>
#include <cmath>

#include "app/gui/panels/views.h"
#include "app/gui/session/actions.h"

namespace meshscope::gui {
namespace {

/// Where the cursor goes in a step of the lesson; nothing where it would not be seen to move.
std::optional<time::Interval> span_of(const session::Document& document, time::ClockKind clock,
                                      const session::LessonStep& step) {
    const panels::FilmSpan film = panels::view_of(step.view).film;
    const session::Document& shown = step.run ? *step.run : document;
    const auto& at = step.run ? step.run_at : step.at;
    if (!at || film == nullptr) return {};
    return film(shown, clock == time::ClockKind::measured ? shown.measured : shown.modelled, *at);
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

namespace {

/// Still shots keep at most `most` frames; the moving ones share the rest. Where there are none the ranks are
/// looked at in turn.
void share_out(std::vector<Shot>& shots, int most, int each_rank) {
    std::vector<Shot*> moving;
    for (Shot& shot : shots)
        if (shot.from_ns) moving.push_back(&shot);
    int over = 0;
    for (Shot& shot : shots) {
        if (shot.from_ns || shot.frames <= most) continue;
        if (moving.empty()) {
            shot.each_rank = each_rank;
            continue;
        }
        over += shot.frames - most;
        shot.frames = most;
    }
    for (std::size_t i = 0; i < moving.size(); ++i) {
        const auto n = static_cast<int>(moving.size());
        moving[i]->frames += over / n + (static_cast<int>(i) < over % n ? 1 : 0);
    }
}

}  // namespace

std::vector<Shot> storyboard(const session::Document& front, const time::Clock& clock, int frames,
                             int frames_per_s) {
    // A variant's run is in front for one step alone.
    const session::Document& document = front.lesson ? *front.lesson : front;
    std::vector<Shot> shots;
    int64_t weight = 0;
    std::vector<int64_t> ends;
    for (std::size_t i = 0; i < document.steps.size(); ++i) {
        Shot shot;
        shot.step = static_cast<int32_t>(i);
        const auto span = span_of(document, clock.kind, document.steps[i]);
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
        begin = end;
    }
    share_out(shots, kMostStillSeconds * frames_per_s, 2 * frames_per_s);
    for (Shot& shot : shots)
        shot.still = std::clamp(shot.frames / 5, 1, std::max(1, kMostStillSeconds * frames_per_s / 2));
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
    if (shot.each_rank > 0 && frame_ > 0 && frame_ % shot.each_rank == 0) {
        const session::AppState& state = stage.state();
        const auto ranks = static_cast<int32_t>(state.document->trace->ranks.size());
        stage.act(session::SelectRank{(state.selection.asking_rank + 1) % std::max(1, ranks)});
    }
    if (++frame_ >= shot.frames) {
        ++shot_;
        frame_ = 0;
    }
    return begins;
}

}  // namespace meshscope::gui
