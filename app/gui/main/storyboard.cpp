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
    return film(shown, session::clock_of(shown, clock), *at);
}

/// Whether no part of the run is named.
bool is_whole(const Options& options) {
    return options.from.value_or(0) == 0 && options.to.value_or(1) == 1;
}

}  // namespace

bool is_of_step(const Options& options) {
    return options.lesson_step >= 0 && !options.view && !options.rank && !options.at && is_whole(options);
}

bool tours_lesson(const Options& options, const session::Document& document, int frames) {
    const bool placed = options.view || options.rank || options.at || options.lesson_step >= 0;
    return !document.steps.empty() && frames > 1 && is_whole(options) && !placed;
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

Shot shot_of(const session::Document& document, time::ClockKind clock, std::size_t step) {
    Shot shot;
    shot.step = static_cast<int32_t>(step);
    shot.tells_step = true;
    if (const auto span = span_of(document, clock, document.steps[step])) {
        shot.from_ns = span->begin_ns;
        shot.to_ns = span->end_ns;
    }
    return shot;
}

/// How long it stands still before it moves.
int still_frames(const Shot& shot, int frames_per_s) {
    return std::clamp(shot.frames / 5, 1, std::max(1, kMostStillSeconds * frames_per_s / 2));
}

}  // namespace

std::vector<Shot> step_alone(const session::Document& front, const time::Clock& clock, int32_t step,
                             int frames, int frames_per_s) {
    const session::Document& document = front.lesson ? *front.lesson : front;
    if (step < 0 || static_cast<std::size_t>(step) >= document.steps.size()) return {};
    Shot shot = shot_of(document, clock.kind, static_cast<std::size_t>(step));
    shot.frames = frames;
    shot.still = still_frames(shot, frames_per_s);
    return {shot};
}

std::vector<Shot> storyboard(const session::Document& front, const time::Clock& clock, int frames,
                             int frames_per_s) {
    // A variant's run is in front for one step alone.
    const session::Document& document = front.lesson ? *front.lesson : front;
    std::vector<Shot> shots;
    int64_t weight = 0;
    std::vector<int64_t> ends;
    for (std::size_t i = 0; i < document.steps.size(); ++i) {
        shots.push_back(shot_of(document, clock.kind, i));
        weight += shots.back().from_ns ? 2 : 1;
        ends.push_back(weight);
    }
    int begin = 0;
    for (std::size_t i = 0; i < shots.size(); ++i) {
        const int end = static_cast<int>((ends[i] * frames + weight / 2) / weight);
        shots[i].frames = end - begin;
        begin = end;
    }
    share_out(shots, kMostStillSeconds * frames_per_s, 2 * frames_per_s);
    for (Shot& shot : shots) shot.still = still_frames(shot, frames_per_s);
    std::erase_if(shots, [](const Shot& shot) { return shot.frames == 0; });
    return shots;
}

FilmLook usual_look(const Options& options, const session::Document& document, int frames) {
    if (options.film) return *options.film;
    return tours_lesson(options, document, frames) ? FilmLook::tour : FilmLook::window;
}

bool plays_step(const Options& options, int frames, FilmLook look) {
    return look == FilmLook::tour && frames > 1 && is_of_step(options);
}

int film_frames(const Options& options, const session::Document& document, int frames_per_s) {
    if (options.frames > 0) return options.frames;
    double seconds = options.seconds;
    if (!options.seconds_given && tours_lesson(options, document, 2) &&
        usual_look(options, document, 2) == FilmLook::tour) {
        seconds = 0;
        const view::Language language = options.language.value_or(view::Language::en);
        for (const session::LessonStep& step : document.steps) {
            if (!step.part.empty()) continue;
            const std::vector<std::string> said = sentences(in_language(step.body, language));
            seconds += std::max(kLeastStepSeconds, said.empty() ? 0 : reading_seconds(said.front()));
        }
    }
    return std::max(1, static_cast<int>(std::lround(seconds * frames_per_s)));
}

Projector::Projector(std::vector<Shot> shots, int frames_per_s, FilmLook look)
    : shots_(std::move(shots)), frames_per_s_(frames_per_s), look_(look) {
    for (const Shot& shot : shots_) all_ += shot.frames;
    int before = 0;
    for (const Shot& shot : shots_) {
        if (before > 0) begins_.push_back(static_cast<double>(before) / all_);
        before += shot.frames;
    }
}

void Projector::begin(Stage& stage, const Shot& shot) {
    if (shot.step) stage.act(session::GoToLessonStep{*shot.step});
    const session::AppState& state = stage.state();
    reel_ = {};
    said_.clear();
    if (look_ == FilmLook::tour && !shot.step && !shot.from_ns) reel_ = still_reel(state);
    const auto& steps = state.document->steps;
    const auto at = static_cast<std::size_t>(state.lesson_step);
    if (look_ == FilmLook::tour && shot.tells_step && at < steps.size())
        said_ = read_in(sentences(in_language(steps[at].body, state.language)), shot.frames, frames_per_s_);
    if (!shot.from_ns || !shot.to_ns) return;
    reel_ = look_ == FilmLook::tour
                ? paused_reel(state, {*shot.from_ns, *shot.to_ns}, shot.still, shot.frames, frames_per_s_)
                : even_reel({*shot.from_ns, *shot.to_ns}, shot.still, shot.frames);
}

session::Film Projector::words() const {
    session::Film film;
    for (const Said& said : said_)
        if (said.from_frame <= frame_) film.said = said.sentence;
    const std::optional<std::size_t> told = reel_.told_at(frame_);
    if (told) film.told = reel_.beats[*told];
    film.begins = begins_;
    film.of_step = shots_[shot_].tells_step;
    film.shown = static_cast<double>(passed_ + 1) / std::max(1, all_);
    return film;
}

int Projector::fade_frames() const {
    if (look_ != FilmLook::tour || shots_.empty()) return 0;
    const int shortest = std::ranges::min_element(shots_, {}, &Shot::frames)->frames;
    return std::min(frames_per_s_ / 3, shortest / 4);
}

bool Projector::advance(Stage& stage) {
    if (shot_ >= shots_.size()) return false;
    const Shot& shot = shots_[shot_];
    const bool begins = frame_ == 0;
    if (frame_ == 0) begin(stage, shot);
    if (!reel_.cursor_ns.empty())
        stage.act(session::SetCursor{reel_.cursor_ns[static_cast<std::size_t>(frame_)]});
    if (shot.each_rank > 0 && frame_ > 0 && frame_ % shot.each_rank == 0) {
        const session::AppState& state = stage.state();
        const auto ranks = static_cast<int32_t>(state.document->trace->ranks.size());
        stage.act(session::SelectRank{(state.selection.asking_rank + 1) % std::max(1, ranks)});
    }
    if (look_ == FilmLook::tour) stage.act(session::ShowFilm{words()});
    ++passed_;
    if (++frame_ >= shot.frames) {
        ++shot_;
        frame_ = 0;
    }
    return begins;
}

}  // namespace meshscope::gui
