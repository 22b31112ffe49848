#include "app/gui/session/actions.h"

#include <algorithm>
#include <tuple>
#include <type_traits>
#include <utility>

#include "app/gui/session/cursor_moves.h"
#include "app/gui/session/lessons.h"
#include "app/gui/session/open_runs.h"
#include "app/gui/session/planned.h"
#include "app/gui/session/run_actions.h"
#include "core/scenario/layout_scenario.h"

namespace meshscope::session {
namespace {

struct Applier : RunActions {
    using RunActions::operator();

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
        if (!s.playing) return start_playing(s);
        s.playing = false;
        s.stretch.reset();
    }
    void operator()(const SetSpeed& a) const { s.speed = std::clamp(a.speed, kSlowest, kFastest); }
    void operator()(const SelectRank& a) const {
        s.selection.rank = a.rank;
        if (a.rank) s.selection.asking_rank = *a.rank;
        s.selection.drop_event();
        s.selection.group.reset();
        s.selection.chunk.reset();
    }
    void operator()(const SelectEvent& a) const {
        s.selection.choose_event(a.event.rank, a.event.event);
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
    void operator()(const SelectCell& a) const {
        s.selection.cell = a.cell;
        s.selection.rank = a.cell.from.first;
        s.selection.asking_rank = a.cell.from.first;
        s.selection.drop_event();
    }
    void operator()(const SelectParameter& a) const {
        s.selection.parameter = a.parameter;
        s.selection.row = a.row;
    }
    void operator()(const MoveSelection& a) const { move_selection(s, a.rows, a.columns); }
    void operator()(const SetTraffic& a) const { s.traffic = a.filter; }
    void operator()(const SetAlgorithms& a) const { s.algorithms = a.choice; }
    void operator()(const SetForm& a) const { s.forms.set(a.form); }
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
        } else if (s.loading) {
            (*this)(CancelLoading{});
        } else if (s.refused_move) {
            s.refused_move.reset();
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
    void operator()(const BackToLesson&) const {
        if (!open_lesson(s)) return;
        if (s.live) (*this)(StopLive{});
        back_to_lesson(s);
    }
    void operator()(const ShowRunOfStep& a) const { show_run_of_step(s, a.of_step); }
    void operator()(const GoToEnd&) const { go_to_end(s); }
    void operator()(const ToggleEnd&) const { s.end_folded = !s.end_folded; }
    void operator()(const Guess& a) const {
        QuizState& quiz = s.quizzes[a.quiz];
        if (!quiz.revealed) quiz.guess = a.guess;
    }
    void operator()(const ShowHint& a) const { s.quizzes[a.quiz].hint_shown = true; }
    void operator()(const Check& a) const {
        if (!s.document) return;
        QuizState& quiz = s.quizzes[a.quiz];
        const auto& cards = s.document->quizzes;
        const auto card = std::ranges::find(cards, a.quiz, &QuizCard::id);
        if (quiz.guess.empty() || quiz.revealed || card == cards.end()) return;
        if (!readable_answer(*card, quiz.guess)) return;  // a slip, no guess
        if (right_answer(*card, quiz.guess)) return (*this)(Reveal{a.quiz});
        quiz.missed = quiz.guess;
    }
    void operator()(const Reveal& a) const {
        QuizState& quiz = s.quizzes[a.quiz];
        if (quiz.guess.empty()) return;  // predict first
        quiz.revealed = true;
        if (s.document && !s.document->steps.empty())
            s.remembered.progress[s.document->name].answers[a.quiz] = quiz.guess;
        // "Run to there": the event the step speaks of plays to its end.
        if (!s.document || s.document->steps.empty()) return;
        show_run_of_step(s, true);
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
        if (!s.document) {
            s.plan.reset();
            return show(s, a.document);
        }
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
    void operator()(const ShowFilm& a) const { s.film = a.film; }
    void operator()(const CloseDocument&) const {
        if (s.loading) effects.cancel_loading = true;
        if (!s.document) s.plan.reset();
        show(s, nullptr);
    }
    void operator()(const ShowPlan& a) const {
        show(s, nullptr);
        s.plan = a.plan;
        s.layout = 0;
        remember_opened(s, a.plan->path, a.plan->name);
    }
    void operator()(const ChangePlan& a) const {
        if (s.plan && !s.loading) effects.change_plan = a.change;
    }
    void operator()(const ChooseLayout& a) const {
        if (s.plan && a.layout < s.plan->layouts.size()) s.layout = a.layout;
    }
    void operator()(const OpenLayout& a) const {
        if (!s.plan || s.loading || a.layout >= s.plan->layouts.size()) return;
        s.layout = a.layout;
        if (const auto why = scenario::why_no_scenario(s.plan->layouts[a.layout].estimate->job))
            effects.tell.push_back(*why);
        else
            effects.open_layout = a;
    }
    void operator()(const ShowDocument& a) const {
        if (!a.document->plan) s.plan.reset();  // closing a layout's run leads back to its plan
        show(s, a.document);
        if (a.document->plan) s.view = view::ViewKind::timeline;
        // Where the left column is folded nothing else would say so.
        if (const auto failed = static_cast<int64_t>(a.document->failed_checks.size()); failed > 0)
            effects.tell.push_back({"app.checks_failed", {{"checks", failed}}});
    }
    void operator()(const ShowError& a) const {
        s.error = a.error;
        s.loading.reset();
    }
    void operator()(const ShowLoading& a) const { s.loading = a.loading; }
    void operator()(const CancelLoading&) const {
        if (!s.loading) return;
        effects.cancel_loading = true;
        effects.open.clear();
        effects.beside.clear();
    }
    void operator()(const SetPlain& a) const { s.plain = a.plain; }
    void operator()(const SetReducedMotion& a) const { s.reduced_motion = a.reduced; }
    void operator()(const ToggleExport&) const {
        if (s.export_sheet) return s.export_sheet.reset();
        if ((!s.document && !s.plan) || s.exporting) return;
        s.palette = s.key_sheet = false;
        s.export_sheet = ExportSheet{export_path(s, "png"), false};
    }
    void operator()(const StartExport& a) const {
        const auto kind = export_kind_of(a.path);
        if (!kind || !can_export(s, *kind) || s.exporting) return;
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
    void operator()(const RestoreViewpoint& a) const { restore(s, a.place); }
    void operator()(const OfferLessons& a) const { s.offers = a.offers; }
    void operator()(const WantPictures& a) const { effects.pictures = a.ids; }
    void operator()(const ShowLessonPicture& a) const { s.lesson_pictures[a.id] = a.picture; }
    void operator()(const OpenMesh& a) const { effects.open_text = mesh_request(a.dims); }
    void operator()(const OfferPicking&) const { s.picks_files = true; }
    void operator()(const AskPath& a) const {
        if (s.picks_files)
            effects.pick_files = a.asks;
        else
            s.asks_path = a.asks;
    }
    void operator()(const Tick& a) const { tick(s, a.seconds); }
};

/// By keys, by playing, on the ruler; other actions that move the cursor choose what it goes to.
bool moves_cursor(const Action& action) {
    return std::visit(
        [](const auto& a) {
            using A = std::decay_t<decltype(a)>;
            return std::is_same_v<A, SetCursor> || std::is_same_v<A, StepHop> ||
                   std::is_same_v<A, StepEvent> || std::is_same_v<A, JumpTo> ||
                   std::is_same_v<A, TogglePlay> || std::is_same_v<A, Check> || std::is_same_v<A, Reveal> ||
                   std::is_same_v<A, Tick>;
        },
        action.any());
}

}  // namespace

void apply(AppState& state, const Action& action, Effects& effects) {
    const int64_t before = state.cursor.t_ns, rested = resting_time(state);
    const auto pinned = std::pair(state.selection.event_rank, state.selection.event);
    const auto document = state.document;
    const auto on_show = std::tuple(state.view, state.forms, state.selection.rank);
    std::visit(Applier{{state, effects}}, action.any());
    if (state.document != document) {
        state.stretch.reset();
        state.beat.reset();
    }
    if (state.document != document || state.cursor.t_ns != before ||
        std::pair(state.selection.event_rank, state.selection.event) != pinned ||
        std::tuple(state.view, state.forms, state.selection.rank) != on_show)
        state.refused_move.reset();
    // The cursor has left the selected event, or is about to: picture and facts are of what is under it
    // again.
    if (moves_cursor(action) && state.selection.event && resting_time(state) != rested &&
        pinned == std::pair(state.selection.event_rank, state.selection.event) &&
        !cursor_on_selected(state, !std::holds_alternative<StepEvent>(action.any()))) {
        state.selection.drop_event();
    }
    if (!state.what_ifs.empty())
        std::erase_if(state.what_ifs, [&](const WhatIfRun& run) {
            return std::find(state.runs.begin(), state.runs.end(), run.answer) == state.runs.end();
        });
    if (state.document && state.cursor.t_ns != before) follow_cursor(state);
}

Action::Action(const Action& other) = default;
Action::Action(Action&& other) noexcept = default;
Action& Action::operator=(const Action& other) = default;
Action& Action::operator=(Action&& other) noexcept = default;
Action::~Action() = default;

}  // namespace meshscope::session
