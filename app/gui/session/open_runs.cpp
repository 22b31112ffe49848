#include "app/gui/session/open_runs.h"

#include <algorithm>
#include <utility>

#include "app/gui/session/cursor_moves.h"
#include "app/gui/session/lessons.h"
#include "app/gui/session/moved_block.h"
#include "app/gui/session/sandbox_actions.h"
#include "app/gui/view/compare_figures.h"
#include "core/scenario/lesson.h"
#include "core/trace/simulated.h"

namespace meshscope::session {

namespace {

/// A variant's run as its lesson tells it: with the lesson's steps, questions and name.
std::shared_ptr<const Document> told_by(const std::shared_ptr<const Document>& lesson, const Document& run) {
    auto made = std::make_shared<Document>(run);
    made->name = lesson->name;
    made->title = lesson->title;
    made->steps = lesson->steps;
    for (LessonStep& step : made->steps) {
        const bool here = step.run && step.run->trace == run.trace;
        step.at = here ? step.run_at : std::nullopt;  // an event of another run is none of this one
        step.at_part = step.run_at_part;
    }
    made->before = lesson->before;
    made->quizzes = lesson->quizzes;
    made->path = lesson->path;
    made->strategies = lesson->strategies;
    made->end_is_taught = true;
    made->lesson = lesson;
    return made;
}

/// Another run of the lesson takes the place of the one in front, among the runs too.
void change_front(AppState& s, std::shared_ptr<const Document> document) {
    const auto place = std::ranges::find(s.runs, s.document);
    if (place != s.runs.end()) *place = document;
    s.document = std::move(document);
    s.playing = false;
    s.glide.reset();
    s.cursor = {};
    s.selection = {};
    s.selection.rank = 0;
    s.traffic = {};
    s.range_begin_ns = s.range_end_ns = 0;
    s.end_folded = s.document->end_is_taught;
}

}  // namespace

std::shared_ptr<const Document> own_run(const AppState& s) {
    return s.document && s.document->lesson ? s.document->lesson : s.document;
}

namespace {

/// Where the step begins in the run in front.
void go_to_moment(AppState& s) {
    const LessonStep& step = s.document->steps[static_cast<size_t>(s.lesson_step)];
    if (step.rank) {
        s.selection.asking_rank = *step.rank;
        s.selection.rank = *step.rank;
    }
    if (s.selection.slice != step.slice) {
        s.selection.slice = step.slice;
        s.slice_age_s = 0;
    }
    s.selection.drop_event();
    if (!step.at) return;
    s.selection.choose_event(step.at->rank, step.at->event);
    const time::Interval at =
        shown_clock(s)->events[static_cast<size_t>(step.at->rank)][static_cast<size_t>(step.at->event)];
    show_step(s, s.document->trace->event(step.at->rank, step.at->event).step);
    move_cursor(
        s, at.begin_ns + static_cast<int64_t>(static_cast<double>(at.end_ns - at.begin_ns) * step.at_part));
}

}  // namespace

void show_run_of_step(AppState& s, bool of_step) {
    if (!std::cmp_less(s.lesson_step, s.document ? s.document->steps.size() : 0)) return;
    const auto lesson = own_run(s);
    const LessonStep& step = lesson->steps[static_cast<size_t>(s.lesson_step)];
    // What a variant gives answers what is asked about it.
    const Document* const run = of_step && open_question(s) == nullptr ? step.run.get() : nullptr;
    if (s.document->trace == (run != nullptr ? run->trace : lesson->trace)) return;
    change_front(s, run != nullptr ? told_by(lesson, *run) : lesson);
    go_to_moment(s);
}

void enter_lesson_step(AppState& s, int32_t index) {
    if (!s.document || s.document->steps.empty()) return;
    s.lesson_step = std::clamp(index, 0, static_cast<int32_t>(s.document->steps.size()) - 1);
    show_run_of_step(s, true);
    const LessonStep& step = s.document->steps[static_cast<size_t>(s.lesson_step)];
    LessonProgress& progress = s.remembered.progress[s.document->name];
    progress.steps = static_cast<int32_t>(s.document->steps.size());
    progress.seen.insert(step.id);
    s.playing = false;
    s.view = step.view;
    s.forms = {};
    if (step.form) s.forms.set(*step.form);
    go_to_moment(s);
}

namespace {

/// Where the lesson in front is left.
void leave_lesson(AppState& s) {
    std::erase_if(s.left_lessons, [&](const LeftLesson& place) {
        const auto lesson = place.lesson.lock();
        return lesson == nullptr || lesson == s.document;
    });
    if (s.document && !s.document->steps.empty())
        s.left_lessons.push_back({s.document, s.lesson_step, s.quizzes});
}

/// At the step where it was left, with what was guessed there; else at its first, where what was answered
/// once stays answered.
void enter_lesson(AppState& s) {
    for (const LeftLesson& place : s.left_lessons)
        if (place.lesson.lock() == s.document) {
            s.quizzes = place.quizzes;
            return enter_lesson_step(s, place.step);
        }
    for (const auto& [quiz, guess] : s.remembered.progress[s.document->name].answers)
        s.quizzes[quiz] = {guess, "", false, true};
    enter_lesson_step(s, 0);
}

/// Another document is in front; what stands beside it stays.
void put_in_front(AppState& s, std::shared_ptr<const Document> document) {
    leave_lesson(s);
    s.document = std::move(document);
    s.loading.reset();
    s.error.reset();
    s.glide.reset();
    s.playing = false;
    s.cursor = {};
    s.selection = {};
    s.traffic = {};
    s.quizzes.clear();
    s.lesson_step = 0;
    s.range_begin_ns = s.range_end_ns = 0;
    if (!s.document) return;
    s.end_folded = s.document->end_is_taught;
    remember_opened(s, s.document->path, s.document->name);
    if (s.document->steps.empty())
        s.selection.rank = 0;
    else
        enter_lesson(s);
    if (s.document->end && !s.document->end_is_taught) go_to_end(s);
    if (trace::is_simulated(s.document->trace->info)) {  // of a schedule: that is what there is to see
        s.view = view::ViewKind::timeline;
        s.forms.set(view::Form::grid);
    }
}

}  // namespace

void remember_opened(AppState& s, const std::string& path, const std::string& name) {
    if (path.empty()) return;
    // A lesson is one thing, whichever of its names opened it.
    const auto card = std::ranges::find_if(
        s.offers, [&](const LessonCard& each) { return scenario::names_lesson(path, folder_of(each.id)); });
    const std::string opens = card != s.offers.end() ? card->id : path;
    std::vector<Recent>& recent = s.remembered.recent;
    std::erase_if(recent, [&](const Recent& r) { return r.path == opens; });
    recent.insert(recent.begin(), {opens, name});
    if (recent.size() > kMostRecent) recent.resize(kMostRecent);
}

view::ViewKind view_of_end(const view::RunEnd& end) {
    return view::is_marked(end) ? view::ViewKind::mesh : view::ViewKind::timeline;
}

void go_to_end(AppState& s) {
    if (!s.document || !s.document->end || s.document->trace->ranks.empty()) return;
    const view::RunEnd& end = *s.document->end;
    s.playing = false;
    s.view = view_of_end(end);
    s.selection.rank = s.selection.asking_rank = end.at.rank;
    s.selection.drop_event();
    const auto& events = s.document->trace->ranks[static_cast<std::size_t>(end.at.rank)].events;
    if (static_cast<std::size_t>(end.at.event) < events.size()) {
        s.selection.choose_event(end.at.rank, end.at.event);
        // From the step of the last thing that is known to the one that the run was in.
        const int32_t from = events[static_cast<std::size_t>(end.at.event)].step;
        show_step(s, end.step);
        const int64_t end_ns = s.range_end_ns;
        if (from < end.step) show_step(s, from);
        s.range_end_ns = std::max(s.range_end_ns, end_ns);
    }
    move_cursor(s, view::broke_off_ns(*s.document->trace, *shown_clock(s), end));
}

void back_to_lesson(AppState& s) {
    const auto lesson = open_lesson(s);
    if (!lesson) return;
    if (s.sandbox) s.sandbox->open = false;
    s.lesson_folded = s.key_sheet = false;
    if (lesson != s.document)
        put_in_front(s, lesson);
    else
        enter_lesson_step(s, s.lesson_step);
}

void show(AppState& s, std::shared_ptr<const Document> document) {
    s.runs.clear();
    s.lane_ranks.clear();
    // What is opened anew begins anew.
    s.document.reset();
    s.left_lessons.clear();
    s.moved.reset();
    if (document) {
        s.runs.push_back(document);
        s.lane_ranks.emplace_back();
    }
    put_in_front(s, std::move(document));
}

void bring_to_front(AppState& s, std::size_t run) {
    if (run >= s.runs.size() || s.runs[run] == s.document) return;
    const view::ViewKind kind = s.view;
    const int32_t step = s.document ? step_at_cursor(s, *s.document) : 0;
    put_in_front(s, s.runs[run]);
    s.view = kind;
    // At the step where the other stood, for what differs there is looked at; a lesson, and a run that broke
    // off, are at their own place.
    const bool has_place = !s.document->steps.empty() || s.document->end;
    if (step > 0 && !has_place)
        move_cursor(s, time::span_of_step(*s.document->trace, *shown_clock(s),
                                          view::compared_step(*s.document->trace, step))
                           .begin_ns);
}

void close_run(AppState& s, std::size_t run) {
    if (run >= s.runs.size()) return;
    const bool front = s.runs[run] == s.document;
    s.runs.erase(s.runs.begin() + static_cast<std::ptrdiff_t>(run));
    s.lane_ranks.erase(s.lane_ranks.begin() + static_cast<std::ptrdiff_t>(run));
    if (s.runs.empty()) return show(s, nullptr);
    if (!front) return;
    const view::ViewKind kind = s.view;
    put_in_front(s, s.runs.front());
    s.view = kind;
}

void show_live(AppState& s, const ShowLive& a) {
    if (!s.live) return;  // given up meanwhile
    const std::shared_ptr<const Document> before = s.live->document;
    s.live = a.live;
    if (!s.live || !s.live->document || s.live->document == before || !s.document) return;
    if (s.sandbox) s.sandbox->runs.push_back(s.live->document);
    const auto found = std::find(s.runs.begin(), s.runs.end(), before);
    if (before == nullptr || found == s.runs.end()) {
        add_run(s, {{"", "", s.live->name, "", s.document}, s.live->document});
        return bring_to_front(s, s.runs.size() - 1);
    }
    *found = s.live->document;
    if (s.document != before) return;
    // The eye stays where it was; the cursor goes to what is new.
    const view::Selection selection = s.selection;
    const view::ViewKind kind = s.view;
    put_in_front(s, s.live->document);
    s.view = kind;
    s.selection.rank = selection.rank;
    s.selection.asking_rank = selection.asking_rank;
    move_cursor(s, shown_clock(s)->end_ns);
}

void restore(AppState& s, const Viewpoint& place) {
    if (!s.document) return;
    if (!s.document->steps.empty()) enter_lesson_step(s, place.lesson_step);
    const auto& ranks = s.document->trace->ranks;
    const auto has = [&](const std::optional<int32_t>& rank) {
        return rank && *rank >= 0 && static_cast<std::size_t>(*rank) < ranks.size();
    };
    s.view = place.view;
    s.forms = place.forms;
    s.clock = place.clock;
    s.selection.rank = has(place.rank) ? place.rank : std::nullopt;
    if (s.selection.rank) s.selection.asking_rank = *s.selection.rank;
    s.selection.drop_event();
    if (has(place.event_rank) && place.event && *place.event >= 0 &&
        static_cast<std::size_t>(*place.event) <
            ranks[static_cast<std::size_t>(*place.event_rank)].events.size()) {
        s.selection.choose_event(*place.event_rank, *place.event);
    }
    s.selection.slice = place.slice;
    s.selection.parameter = place.parameter;
    s.selection.row = place.row;
    s.range_begin_ns = s.range_end_ns = 0;
    const int64_t end = shown_clock(s)->end_ns;
    if (place.range_begin_ns >= 0 && place.range_end_ns > place.range_begin_ns && place.range_end_ns <= end) {
        s.range_begin_ns = place.range_begin_ns;
        s.range_end_ns = place.range_end_ns;
    }
    move_cursor(s, place.cursor_ns);
}

}  // namespace meshscope::session
