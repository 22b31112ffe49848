#include "app/gui/session/app_state.h"

#include <algorithm>
#include <cmath>

#include "app/gui/session/sandbox_actions.h"
#include "app/gui/view/parameters.h"
#include "app/gui/view/traffic.h"

namespace meshscope::session {
namespace {

constexpr double kToastSeconds = 4.4, kSliceSeconds = 0.48;

int64_t clamp_time(const AppState& s, int64_t t) {
    const time::Clock* clock = shown_clock(s);
    return std::clamp<int64_t>(t, 0, clock != nullptr ? clock->end_ns : 0);
}

void move_cursor(AppState& s, int64_t t) {
    s.glide.reset();
    s.cursor.t_ns = clamp_time(s, t);
}

// A second press while the cursor glides starts from where the first one leads, so that fast presses are not
// lost.
int64_t resting_time(const AppState& s) {
    return s.glide ? s.glide->to_ns : s.cursor.t_ns;
}

void glide_to(AppState& s, int64_t t, double seconds) {
    t = clamp_time(s, t);
    s.playing = false;
    if (s.reduced_motion) return move_cursor(s, t);
    s.glide = Glide{s.cursor.t_ns, t, 0, seconds / std::max(s.speed, 0.1)};
}

/// The same place of the run on another clock: as far into the event under the cursor as before.
int64_t carry_over(const AppState& s, const time::Clock& from, const time::Clock& to) {
    const int32_t rank = s.selection.rank.value_or(s.selection.asking_rank);
    const auto ref = view::event_at(*s.document->trace, from, s.cursor, rank);
    if (!ref) return 0;
    const time::Interval a = from.events[static_cast<size_t>(ref->rank)][static_cast<size_t>(ref->event)];
    const time::Interval b = to.events[static_cast<size_t>(ref->rank)][static_cast<size_t>(ref->event)];
    const double whole = static_cast<double>(std::max<int64_t>(1, a.end_ns - a.begin_ns));
    const double done = std::clamp(static_cast<double>(s.cursor.t_ns - a.begin_ns) / whole, 0.0, 1.0);
    return b.begin_ns + std::llround(done * static_cast<double>(b.end_ns - b.begin_ns));
}

void tick(AppState& s, double seconds) {
    s.slice_age_s += seconds;
    if (s.toast && (s.toast->age_s += seconds) > kToastSeconds) s.toast.reset();
    const time::Clock* clock = shown_clock(s);
    if (clock == nullptr) return;
    if (s.glide) {
        Glide& g = *s.glide;
        g.passed_s += seconds;
        const double x = std::clamp(g.passed_s / g.lasts_s, 0.0, 1.0);
        // ease-in-out cubic
        const double y = x < 0.5 ? 4 * x * x * x : 1 - std::pow(-2 * x + 2, 3) / 2;
        s.cursor.t_ns = g.from_ns + std::llround(y * static_cast<double>(g.to_ns - g.from_ns));
        if (x >= 1) s.glide.reset();
        return;
    }
    if (s.playing) {
        const double rate = playing_rate(*s.document->trace, *clock) * s.speed;
        s.cursor.t_ns =
            std::min(clock->end_ns, s.cursor.t_ns + std::max<int64_t>(1, std::llround(rate * seconds)));
        if (s.cursor.t_ns >= clock->end_ns) s.playing = false;
    }
}

/// The timeline shows one training step: wide enough to read its bars.
void show_step(AppState& s, int32_t step) {
    const time::Interval span = time::span_of_step(*s.document->trace, *shown_clock(s), step);
    if (span.end_ns <= span.begin_ns) return;
    s.range_begin_ns = span.begin_ns;
    s.range_end_ns = span.end_ns;
}

/// A range that the cursor has left turns to the page where it is.
void follow_cursor(AppState& s) {
    if (s.range_end_ns <= s.range_begin_ns) return;
    const int64_t t = s.cursor.t_ns, span = s.range_end_ns - s.range_begin_ns, end = shown_clock(s)->end_ns;
    if (t >= s.range_begin_ns && t <= s.range_end_ns) return;
    const int64_t begin = t > s.range_end_ns ? t - span / 16 : t - span + span / 16;
    s.range_begin_ns = std::clamp<int64_t>(begin, 0, std::max<int64_t>(0, end - span));
    s.range_end_ns = s.range_begin_ns + span;
}

void enter_lesson_step(AppState& s, int32_t index) {
    if (!s.document || s.document->steps.empty()) return;
    s.lesson_step = std::clamp(index, 0, static_cast<int32_t>(s.document->steps.size()) - 1);
    const LessonStep& step = s.document->steps[static_cast<size_t>(s.lesson_step)];
    LessonProgress& progress = s.remembered.progress[s.document->name];
    progress.steps = static_cast<int32_t>(s.document->steps.size());
    progress.seen.insert(step.id);
    s.playing = false;
    s.view = step.view;
    if (step.rank) {
        s.selection.asking_rank = *step.rank;
        s.selection.rank = *step.rank;
    }
    if (s.selection.slice != step.slice) {
        s.selection.slice = step.slice;
        s.slice_age_s = 0;
    }
    s.selection.event.reset();
    s.selection.event_rank.reset();
    if (step.at) {
        s.selection.event_rank = step.at->rank;
        s.selection.event = step.at->event;
        const time::Interval at =
            shown_clock(s)->events[static_cast<size_t>(step.at->rank)][static_cast<size_t>(step.at->event)];
        show_step(s, s.document->trace->event(step.at->rank, step.at->event).step);
        move_cursor(s, at.begin_ns +
                           static_cast<int64_t>(static_cast<double>(at.end_ns - at.begin_ns) * step.at_part));
    }
}

/// The document in front is the newest of those that were open lately.
void note_recent(AppState& s) {
    if (s.document->path.empty()) return;
    std::vector<Recent>& recent = s.remembered.recent;
    std::erase_if(recent, [&](const Recent& r) { return r.path == s.document->path; });
    recent.insert(recent.begin(), {s.document->path, s.document->name});
    if (recent.size() > kMostRecent) recent.resize(kMostRecent);
}

/// Another document is in front; what stands beside it stays.
void put_in_front(AppState& s, std::shared_ptr<const Document> document) {
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
    note_recent(s);
    if (s.document->steps.empty()) {
        s.selection.rank = 0;
    } else {
        enter_lesson_step(s, 0);
        // What was answered once stays answered.
        for (const auto& [quiz, guess] : s.remembered.progress[s.document->name].answers)
            s.quizzes[quiz] = {guess, false, true};
    }
}

void show(AppState& s, std::shared_ptr<const Document> document) {
    s.runs.clear();
    s.lane_ranks.clear();
    if (document) {
        s.runs.push_back(document);
        s.lane_ranks.emplace_back();
    }
    put_in_front(s, std::move(document));
}

/// The front stays where the others view it, at the same part of the same step.
void bring_to_front(AppState& s, std::size_t run) {
    if (run >= s.runs.size() || s.runs[run] == s.document) return;
    const view::ViewKind kind = s.view;
    put_in_front(s, s.runs[run]);
    s.view = kind;
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

/// One cell or one row on, in the view that has such a selection.
void move_selection(AppState& s, int rows, int columns) {
    const time::Clock* clock = shown_clock(s);
    if (clock == nullptr) return;
    const trace::Trace& trace = *s.document->trace;
    if (s.view == view::ViewKind::traffic) {
        const auto link =
            view::next_link(trace, *clock, s.cursor, s.traffic, s.selection.link, rows, columns);
        if (!link) return;
        s.selection.link = link;
        s.selection.rank = s.selection.asking_rank = link->from.first;
    } else if (s.view == view::ViewKind::parameters) {
        const auto next = view::next_row(trace, s.selection, rows, columns);
        if (!next) return;
        s.selection.parameter = next->parameter;
        s.selection.row = next->row;
    }
}

/// What a held run recorded so far takes the place of what it had recorded before, and stays in front.
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

/// As much of a place as what is open still has.
void restore(AppState& s, const Place& place) {
    if (!s.document) return;
    if (!s.document->steps.empty()) enter_lesson_step(s, place.lesson_step);
    const auto& ranks = s.document->trace->ranks;
    const auto has = [&](const std::optional<int32_t>& rank) {
        return rank && *rank >= 0 && static_cast<std::size_t>(*rank) < ranks.size();
    };
    s.view = place.view;
    s.clock = place.clock;
    s.selection.rank = has(place.rank) ? place.rank : std::nullopt;
    if (s.selection.rank) s.selection.asking_rank = *s.selection.rank;
    s.selection.event_rank.reset();
    s.selection.event.reset();
    if (has(place.event_rank) && place.event && *place.event >= 0 &&
        static_cast<std::size_t>(*place.event) <
            ranks[static_cast<std::size_t>(*place.event_rank)].events.size()) {
        s.selection.event_rank = place.event_rank;
        s.selection.event = place.event;
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

struct Applier {
    AppState& s;
    Effects& effects;

    void operator()(const SetLanguage& a) const { s.language = a.language; }
    void operator()(const SetTheme& a) const { s.theme = a.theme; }
    void operator()(const SetScale& a) const { s.scale = std::clamp(a.scale, kScaleMin, kScaleMax); }
    void operator()(const SetView& a) const { s.view = a.view; }
    void operator()(const SetClock& a) const {
        if (a.clock == s.clock) return;
        const time::Clock* from = shown_clock(s);
        s.clock = a.clock;
        s.range_begin_ns = s.range_end_ns = 0;
        if (from != nullptr) move_cursor(s, carry_over(s, *from, *shown_clock(s)));
    }
    void operator()(const SetCursor& a) const {
        s.playing = false;
        move_cursor(s, a.t_ns);
    }
    void operator()(const StepHop& a) const {
        const time::Clock* clock = shown_clock(s);
        if (clock == nullptr) return;
        const view::Cursor from{resting_time(s)};
        const auto to = a.direction > 0 ? view::next_hop(*s.document->trace, *clock, from)
                                        : view::previous_hop(*s.document->trace, *clock, from);
        if (to) glide_to(s, to->t_ns, 0.32);
    }
    void operator()(const StepEvent& a) const {
        const time::Clock* clock = shown_clock(s);
        if (clock == nullptr) return;
        const view::Cursor from{resting_time(s)};
        const auto to = a.direction > 0 ? view::next_event(*s.document->trace, *clock, from)
                                        : view::previous_event(*s.document->trace, *clock, from);
        if (to) glide_to(s, to->t_ns, 0.22);
    }
    void operator()(const JumpTo& a) const {
        const time::Clock* clock = shown_clock(s);
        if (clock == nullptr) return;
        s.playing = false;
        move_cursor(s, a.end ? clock->end_ns : 0);
    }
    void operator()(const TogglePlay&) const {
        const time::Clock* clock = shown_clock(s);
        if (clock == nullptr) return;
        if (s.glide) move_cursor(s, s.glide->to_ns);
        s.playing = !s.playing;
        if (s.playing && s.cursor.t_ns >= clock->end_ns) s.cursor.t_ns = 0;
    }
    void operator()(const SetSpeed& a) const { s.speed = std::clamp(a.speed, 0.25, 4.0); }
    void operator()(const SelectRank& a) const {
        s.selection.rank = a.rank;
        if (a.rank) s.selection.asking_rank = *a.rank;
        s.selection.event.reset();
        s.selection.event_rank.reset();
        s.selection.group.reset();
        s.selection.chunk.reset();
    }
    void operator()(const SelectEvent& a) const {
        s.selection.event_rank = a.event.rank;
        s.selection.event = a.event.event;
        s.selection.rank = a.event.rank;
        s.selection.asking_rank = a.event.rank;
        s.selection.chunk.reset();
        if (!a.move_cursor) return;
        const time::Interval at =
            shown_clock(s)->events[static_cast<size_t>(a.event.rank)][static_cast<size_t>(a.event.event)];
        s.playing = false;
        move_cursor(s, at.begin_ns + (at.end_ns - at.begin_ns) / 2);
    }
    void operator()(const SelectGroup& a) const { s.selection.group = a.group; }
    void operator()(const SelectChunk& a) const {
        s.selection.rank = a.rank;
        s.selection.chunk = a.chunk;
    }
    void operator()(const SelectLink& a) const {
        s.selection.link = a.link;
        s.selection.rank = a.link.from.first;
        s.selection.asking_rank = a.link.from.first;
        s.selection.event.reset();
        s.selection.event_rank.reset();
    }
    void operator()(const SelectParameter& a) const {
        s.selection.parameter = a.parameter;
        s.selection.row = a.row;
    }
    void operator()(const MoveSelection& a) const { move_selection(s, a.rows, a.columns); }
    void operator()(const SetTraffic& a) const { s.traffic = a.filter; }
    void operator()(const SetSlice& a) const {
        if (s.selection.slice != a.slice) s.slice_age_s = 0;
        s.selection.slice = a.slice;
    }
    void operator()(const BeRank& a) const { s.selection.asking_rank = a.rank; }
    void operator()(const ClearSelection&) const {
        if (s.palette) {
            s.palette = false;
        } else if (s.key_sheet) {
            s.key_sheet = false;
        } else if (s.export_sheet) {
            s.export_sheet.reset();
        } else if (s.error) {
            s.error.reset();
        } else if (s.facts_drawer) {
            s.facts_drawer = false;
        } else if (!s.live && s.sandbox && s.sandbox->saving) {
            s.sandbox->saving.reset();
        } else if (!s.live && s.sandbox && s.sandbox->open) {
            s.sandbox->open = false;
        } else if (s.presenter) {
            s.presenter = s.notes = false;
        } else if (s.view == view::ViewKind::traffic && s.traffic.window) {
            s.traffic.window.reset();  // out of the part that was zoomed into
        } else {
            const int32_t asking = s.selection.asking_rank;
            s.selection = {};
            s.selection.asking_rank = asking;
        }
    }
    void operator()(const GoToLessonStep& a) const { enter_lesson_step(s, a.index); }
    void operator()(const Guess& a) const {
        QuizState& quiz = s.quizzes[a.quiz];
        if (!quiz.revealed) quiz.guess = a.guess;
    }
    void operator()(const ShowHint& a) const { s.quizzes[a.quiz].hint_shown = true; }
    void operator()(const Reveal& a) const {
        QuizState& quiz = s.quizzes[a.quiz];
        if (quiz.guess.empty()) return;  // predict first
        quiz.revealed = true;
        if (s.document && !s.document->steps.empty())
            s.remembered.progress[s.document->name].answers[a.quiz] = quiz.guess;
        // "Run to there": the event the step speaks of plays to its end.
        if (!s.document || s.document->steps.empty()) return;
        const LessonStep& step = s.document->steps[static_cast<size_t>(s.lesson_step)];
        if (!step.at) return;
        const auto at =
            shown_clock(s)->events[static_cast<size_t>(step.at->rank)][static_cast<size_t>(step.at->event)];
        glide_to(s, at.end_ns, 0.64);
    }
    void operator()(const SetRange& a) const {
        const time::Clock* clock = shown_clock(s);
        if (clock == nullptr) return;
        const int64_t end = std::clamp<int64_t>(a.end_ns, 0, clock->end_ns);
        const int64_t begin = std::clamp<int64_t>(a.begin_ns, 0, end);
        const bool whole = begin == 0 && end == clock->end_ns;
        s.range_begin_ns = whole || end <= begin ? 0 : begin;
        s.range_end_ns = whole || end <= begin ? 0 : end;
    }
    void operator()(const SetSplit& a) const { s.split = std::clamp(a.split, 0.2F, 0.8F); }
    void operator()(const ToggleLesson&) const { s.lesson_folded = !s.lesson_folded; }
    void operator()(const ToggleDrawer&) const { s.facts_drawer = !s.facts_drawer; }
    void operator()(const ToggleKeySheet&) const { s.key_sheet = !s.key_sheet; }
    void operator()(const DismissError&) const { s.error.reset(); }
    void operator()(const ShowToast& a) const { s.toast = Toast{a.text, 0}; }
    void operator()(const CopyText& a) const {
        s.copy_view = false;
        effects.copy.push_back(a.text);
    }
    void operator()(const OpenPath& a) const { effects.open.push_back(a.path); }
    void operator()(const OpenBeside& a) const {
        // Of several files dropped at once on the welcome page the first is opened, the others come beside
        // it.
        if (!s.document && !s.loading && effects.open.empty())
            effects.open.push_back(a.path);
        else if (s.runs.size() >= kMostRuns)
            effects.tell.push_back({"view.compare.full", {}});
        else
            effects.beside.push_back(a);
    }
    void operator()(const AddDocument& a) const {
        s.loading.reset();
        if (!s.document) return show(s, a.document);
        if (s.runs.size() >= kMostRuns) return effects.tell.push_back({"view.compare.full", {}});
        s.error.reset();
        s.runs.push_back(a.document);
        s.lane_ranks.emplace_back();
        if (a.look) s.view = view::ViewKind::compare;
    }
    void operator()(const BringToFront& a) const { bring_to_front(s, static_cast<std::size_t>(a.run)); }
    void operator()(const SelectInRun& a) const {
        bring_to_front(s, static_cast<std::size_t>(a.run));
        (*this)(SelectEvent{a.event, true});
    }
    void operator()(const CloseRun& a) const { close_run(s, static_cast<std::size_t>(a.run)); }
    void operator()(const SetLaneRank& a) const {
        const auto run = static_cast<std::size_t>(a.run);
        if (run >= s.runs.size()) return;
        const auto ranks = static_cast<int32_t>(s.runs[run]->trace->ranks.size());
        if (ranks > 0) s.lane_ranks[run] = (a.rank % ranks + ranks) % ranks;
    }
    void operator()(const CloseDocument&) const { show(s, nullptr); }
    void operator()(const ShowDocument& a) const { show(s, a.document); }
    void operator()(const ShowError& a) const {
        s.error = a.error;
        s.loading.reset();
    }
    void operator()(const ShowLoading& a) const { s.loading = a.loading; }
    void operator()(const SetReducedMotion& a) const { s.reduced_motion = a.reduced; }
    void operator()(const ToggleExport&) const {
        if (s.export_sheet) return s.export_sheet.reset();
        if (!s.document || s.exporting) return;
        s.palette = s.key_sheet = false;
        s.export_sheet = ExportSheet{export_path(s, "png"), false};
    }
    void operator()(const StartExport& a) const {
        if (!s.document || s.exporting) return;
        effects.exports.push_back(a);
    }
    void operator()(const AskReplace& a) const { s.export_sheet = ExportSheet{a.path, true}; }
    void operator()(const CancelExport&) const { effects.cancel_export = true; }
    void operator()(const ShowExporting& a) const {
        s.exporting = a.exporting;
        if (!a.exporting) return;
        s.export_sheet.reset();
        const std::size_t slash = a.exporting->path.rfind('/');
        if (slash != std::string::npos) s.remembered.folder = a.exporting->path.substr(0, slash);
    }
    void operator()(const TogglePalette&) const {
        s.palette = !s.palette;
        if (s.palette) s.key_sheet = false;
    }
    void operator()(const TogglePresenter&) const {
        s.presenter = !s.presenter;
        s.notes = false;
        if (s.presenter) s.lesson_folded = false;
    }
    void operator()(const ToggleNotes&) const { s.notes = s.presenter && !s.notes; }
    void operator()(const CopyView&) const { s.copy_view = s.document != nullptr; }
    void operator()(const CopyCommand&) const { effects.copy_command = s.document != nullptr; }
    void operator()(const Remember& a) const { s.remembered = a.remembered; }
    void operator()(const RestorePlace& a) const { restore(s, a.place); }
    void operator()(const OfferLessons& a) const { s.offers = a.offers; }
    void operator()(const Tick& a) const { tick(s, a.seconds); }

    void operator()(const ToggleSandbox&) const {
        if (s.sandbox && s.sandbox->open)
            s.sandbox->open = false;
        else if (!open_sandbox(s) && s.document)
            effects.tell.push_back({"sandbox.no_scenario", {{"name", s.document->name}}});
    }
    void operator()(const EditSandbox& a) const {
        if (s.sandbox) s.sandbox->draft.edit(a.changes, a.typing);
    }
    void operator()(const UndoEdit&) const {
        if (s.sandbox && s.sandbox->open) s.sandbox->draft.undo();
    }
    void operator()(const RedoEdit&) const {
        if (s.sandbox && s.sandbox->open) s.sandbox->draft.redo();
    }
    void start(std::optional<RunRequest> request) const {
        if (!request) return;
        s.running = Running{request->name, request->what_if, 0, 0, false};
        effects.run = std::move(request);
    }
    void operator()(const RunSandbox&) const {
        if (s.sandbox && s.sandbox->open) start(sandbox_request(s));
    }
    void operator()(const StopRun&) const {
        if (!s.running) return;
        s.running->stopping = true;
        effects.stop_run = true;
    }
    void operator()(const AskWhatIf& a) const { start(what_if_request(s, a)); }
    void operator()(const AskSave& a) const {
        if (s.sandbox) s.sandbox->saving = a.form;
    }
    void operator()(const SaveSandbox& a) const {
        if (!s.sandbox || !s.sandbox->saving) return;
        const sandbox::Draft& draft = s.sandbox->draft;
        const std::size_t slash = draft.path().rfind('/');
        effects.save =
            SaveRequest{draft.text(), slash == std::string::npos ? "" : draft.path().substr(0, slash),
                        *s.sandbox->saving, a.replace};
    }
    void operator()(const ShowRunning& a) const { s.running = a.running; }
    void operator()(const RunEnded& a) const {
        if (!s.document) return;  // closed meanwhile
        add_run(s, a);
        if (a.request.what_if.empty()) bring_to_front(s, s.runs.size() - 1);
    }
    void operator()(const RunRefused& a) const {
        if (s.sandbox && a.request.what_if.empty()) s.sandbox->draft.run_ended_with(a.found);
    }
    void operator()(const StartLive&) const {
        if (!s.sandbox || s.live) return;
        effects.start_live = sandbox_request(s);
        if (effects.start_live) s.live = LiveState{effects.start_live->name, {}, nullptr};
        if (s.live) s.live->world.going = true;
    }
    void operator()(const LetGo& a) const {
        if (!s.live || s.live->world.going || s.live->world.ended) return;
        s.live->world.going = true;
        effects.let_go = a;
    }
    void operator()(const StopLive&) const {
        if (!s.live) return;
        effects.stop_live = true;
        s.live.reset();
    }
    void operator()(const ShowLive& a) const { show_live(s, a); }
    void operator()(const SaveEnded& a) const {
        if (!s.sandbox || !s.sandbox->saving) return;
        if (a.exists)
            s.sandbox->saving->exists = true;
        else
            s.sandbox->saving.reset();
    }
};

}  // namespace

void apply(AppState& state, const Action& action, Effects& effects) {
    const int64_t before = state.cursor.t_ns;
    std::visit(Applier{state, effects}, action);
    if (!state.what_ifs.empty())
        std::erase_if(state.what_ifs, [&](const WhatIfRun& run) {
            return std::find(state.runs.begin(), state.runs.end(), run.answer) == state.runs.end();
        });
    if (state.document && state.cursor.t_ns != before) follow_cursor(state);
}

const time::Clock* shown_clock(const AppState& state) {
    if (!state.document) return nullptr;
    return state.clock == time::ClockKind::measured ? &state.document->measured : &state.document->modelled;
}

std::optional<view::EventRef> shown_event(const AppState& state) {
    if (!state.document) return {};
    if (state.selection.event && state.selection.event_rank) {
        return view::EventRef{*state.selection.event_rank, *state.selection.event};
    }
    int32_t rank = state.selection.rank.value_or(state.selection.asking_rank);
    // A lesson step may show a larger mesh than the run had.
    if (rank >= static_cast<int32_t>(state.document->trace->ranks.size())) rank = 0;
    return view::event_at(*state.document->trace, *shown_clock(state), state.cursor, rank);
}

std::size_t front_run(const AppState& state) {
    const auto found = std::find(state.runs.begin(), state.runs.end(), state.document);
    return found == state.runs.end() ? 0 : static_cast<std::size_t>(found - state.runs.begin());
}

int32_t lane_rank(const AppState& state, std::size_t run) {
    const view::Selection& chosen = state.selection;
    const bool front = state.runs[run] == state.document;
    const int32_t focus = chosen.rank         ? *chosen.rank
                          : chosen.event_rank ? *chosen.event_rank
                                              : chosen.asking_rank;
    // The selected event is always seen in its own lanes.
    const int32_t rank =
        front && chosen.event_rank ? *chosen.event_rank : state.lane_ranks[run].value_or(focus);
    const auto ranks = static_cast<int32_t>(state.runs[run]->trace->ranks.size());
    return std::clamp(rank, 0, std::max(0, ranks - 1));
}

double playing_rate(const trace::Trace& trace, const time::Clock& clock) {
    std::vector<int64_t> hops;
    for (size_t rank = 0; rank < trace.ranks.size() && rank < 4; ++rank) {
        for (const time::Interval& hop : clock.hops[rank]) {
            if (hop.end_ns > hop.begin_ns) hops.push_back(hop.end_ns - hop.begin_ns);
        }
    }
    if (hops.empty()) return std::max(1.0, static_cast<double>(clock.end_ns) / 10.0);
    const auto middle = hops.begin() + static_cast<std::ptrdiff_t>(hops.size() / 2);
    std::nth_element(hops.begin(), middle, hops.end());
    return static_cast<double>(*middle) / 0.32;
}

bool in_motion(const AppState& state) {
    return state.playing || state.glide || state.loading || state.toast || state.copy_view ||
           state.exporting || state.slice_age_s < kSliceSeconds;
}

}  // namespace meshscope::session
