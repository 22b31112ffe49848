#include "app/gui/session/commands.h"

#include <algorithm>

#include "app/gui/session/cursor_moves.h"
#include "app/gui/session/lessons.h"
#include "app/gui/view/attention/scene.h"
#include "app/gui/view/matrices.h"
#include "app/gui/view/pipeline_blocks.h"
#include "app/gui/view/traffic.h"

namespace meshscope::session {
namespace {

using view::Language;
using view::ViewKind;
using window::Key;
using window::KeyPress;
using window::ThemeKind;
using Done = std::optional<Action>;

constexpr KeyPress shift(Key key) {
    return {key, true, false};
}
constexpr KeyPress control(Key key) {
    return {key, false, true};
}
constexpr KeyPress both(Key key) {
    return {key, true, true};
}

/// The next kind of collective that the traffic matrix can be cut down to; after the last all of them again.
view::TrafficFilter next_op(const AppState& s) {
    view::TrafficFilter filter = s.traffic;
    const view::Traffic counted = view::traffic(*s.document->trace, *shown_clock(s), s.cursor.t_ns, filter);
    for (std::size_t op = filter.op ? *filter.op + 1U : 0; op < view::kOps; ++op)
        if (counted.by_op[op] > 0) {
            filter.op = static_cast<uint8_t>(op);
            return filter;
        }
    filter.op.reset();
    return filter;
}

view::TrafficFilter next_span(view::TrafficFilter filter) {
    filter.span = filter.span == view::TrafficSpan::run    ? view::TrafficSpan::step
                  : filter.span == view::TrafficSpan::step ? view::TrafficSpan::cursor
                                                           : view::TrafficSpan::run;
    return filter;
}

/// The next form of the view on show, after its last the first; nothing where it has but one for this run.
std::optional<view::Form> next_form(const AppState& s) {
    const auto now = s.document ? s.forms.of(s.view) : std::nullopt;
    if (!now || (s.view == ViewKind::timeline && !view::has_pipeline(*s.document->trace))) return {};
    const auto next = static_cast<std::size_t>(*now) + 1;
    return next < view::kFormViews.size() && view::kFormViews[next] == s.view ? static_cast<view::Form>(next)
                                                                             : view::first_form(s.view);
}

bool in_traffic(const AppState& s) {
    return s.view == ViewKind::traffic && s.document;
}

/// To the next or the previous kernel or collective of the layer whose matrices, or attention, are on show.
template <int by>
Done op_of_layer(const AppState& s) {
    if (!s.document || s.view != ViewKind::tensors || s.forms.in(view::Form::rows)) return {};
    const view::Moment now{*s.document->trace, *shown_clock(s), {resting_time(s)}, s.selection, nullptr};
    const auto next =
        s.forms.in(view::Form::attention) ? view::next_of_attention(now, by) : view::next_op(now, by);
    return next ? Done(SelectEvent{*next, true}) : Done();
}

/// The selected block of a pipeline's grid in another place.
template <int by>
Done nudged_block(const AppState& s) {
    return !s.running && block_is_selected(s) ? Done(NudgeBlock{by}) : Done();
}

bool in_sandbox(const AppState& s) {
    return s.sandbox && s.sandbox->open;
}

template <class A>
Done with_document(const AppState& s, A action) {
    return s.document ? Done(Action(std::move(action))) : Done();
}

/// 1 for the first view, and so on; the tenth has none.
std::vector<KeyPress> key_of(ViewKind kind) {
    const int digit = static_cast<int>(Key::digit1) + static_cast<int>(kind);
    if (digit > static_cast<int>(Key::digit9)) return {};
    return {{static_cast<Key>(digit)}};
}

/// What an action means in every state; while something is open; while the sandbox is.
template <class A>
Done always(const AppState&) {
    return A{};
}
template <class A, auto... members>
Done opened(const AppState& s) {
    return with_document(s, A{members...});
}
/// What is open closes: a document, or a plan.
Done closed(const AppState& s) {
    return s.document || s.plan ? Done(CloseDocument{}) : Done();
}
template <class A>
Done edited(const AppState& s) {
    return in_sandbox(s) ? Done(A{}) : Done();
}

template <int by>
Done step_of_lesson(const AppState& s) {
    if (!s.document || s.document->steps.empty()) return {};
    return GoToLessonStep{s.lesson_step + by};
}

/// Presenting, one key goes on: to the next step, at its end to nothing.
Done play_or_next(const AppState& s) {
    return s.presenter && s.document && !s.document->steps.empty() ? step_of_lesson<1>(s)
                                                                   : with_document(s, TogglePlay{});
}

ThemeKind next(ThemeKind theme) {
    return theme == ThemeKind::dark    ? ThemeKind::light
           : theme == ThemeKind::light ? ThemeKind::contrast
                                       : ThemeKind::dark;
}

/// The cursor, playing, the lesson's steps.
std::vector<Command> moving_on() {
    return {
        {"keys.palette", {control(Key::k), both(Key::p)}, always<TogglePalette>},
        {"keys.sheet", {shift(Key::question), {Key::f1}}, always<ToggleKeySheet>},
        {"keys.play", {{Key::space}}, play_or_next},
        {"keys.hop_on", {{Key::right}}, opened<StepHop, 1>},
        {"keys.hop_back", {{Key::left}}, opened<StepHop, -1>},
        {"keys.event_on", {shift(Key::right)}, opened<StepEvent, 1>},
        {"keys.event_back", {shift(Key::left)}, opened<StepEvent, -1>},
        {"keys.to_start", {{Key::home}}, opened<JumpTo, false>},
        {"keys.to_end", {{Key::end}}, opened<JumpTo, true>},
        {"keys.faster", {}, [](const AppState& s) { return with_document(s, SetSpeed{s.speed * 2}); }},
        {"keys.slower", {}, [](const AppState& s) { return with_document(s, SetSpeed{s.speed / 2}); }},
        {"keys.clock",
         {{Key::c}},
         [](const AppState& s) {
             return with_document(s,
                                  SetClock{s.clock == time::ClockKind::measured ? time::ClockKind::modelled
                                                                                : time::ClockKind::measured});
         }},
        {"keys.lesson_on", {{Key::down}, {Key::page_down}}, step_of_lesson<1>},
        {"keys.lesson_back", {{Key::up}, {Key::page_up}}, step_of_lesson<-1>},
        {"keys.lesson",
         {control(Key::l)},
         [](const AppState& s) { return open_lesson(s) ? Done(BackToLesson{}) : Done(); }},
    };
}

/// The views, and what is selected in them.
std::vector<Command> looking() {
    return {
#define MESHSCOPE_VIEW(word) {"keys." #word, key_of(ViewKind::word), opened<SetView, ViewKind::word>},
#include "core/base/views.def"
#undef MESHSCOPE_VIEW
        {"keys.move_left", {control(Key::left)}, opened<MoveSelection, 0, -1>},
        {"keys.move_right", {control(Key::right)}, opened<MoveSelection, 0, 1>},
        {"keys.move_up", {control(Key::up)}, opened<MoveSelection, -1, 0>},
        {"keys.move_down", {control(Key::down)}, opened<MoveSelection, 1, 0>},
        {"keys.form",
         {{Key::g}},
         [](const AppState& s) {
             const auto form = next_form(s);
             return form ? Done(SetForm{*form}) : Done();
         }},
        {"keys.op_back", {{Key::left_bracket}}, op_of_layer<-1>},
        {"keys.op_on", {{Key::right_bracket}}, op_of_layer<1>},
        {"keys.block_earlier", {both(Key::left)}, nudged_block<-1>},
        {"keys.block_later", {both(Key::right)}, nudged_block<1>},
        {"keys.usual_order",
         {},
         [](const AppState& s) { return can_ask_usual_order(s) ? Done(UsualOrder{}) : Done(); }},
        {"keys.traffic_op",
         {{Key::o}},
         [](const AppState& s) { return in_traffic(s) ? Done(SetTraffic{next_op(s)}) : Done(); }},
        {"keys.traffic_span",
         {{Key::s}},
         [](const AppState& s) { return in_traffic(s) ? Done(SetTraffic{next_span(s.traffic)}) : Done(); }},
    };
}

/// What can be done with what is open, and how the window looks.
std::vector<Command> others() {
    return {
        {"keys.clear", {{Key::escape}}, always<ClearSelection>},
        {"keys.copy_view", {both(Key::c)}, opened<CopyView>},
        {"keys.copy_command", {both(Key::l)}, opened<CopyCommand>},
        {"keys.export",
         {control(Key::e)},
         [](const AppState& s) { return s.document || s.plan ? Done(ToggleExport{}) : Done(); }},
        {"keys.sandbox", {{Key::e}}, opened<ToggleSandbox>},
        {"keys.run", {control(Key::enter)}, edited<RunSandbox>},
        {"keys.undo",
         {control(Key::z)},
         [](const AppState& s) { return in_sandbox(s) || can_undo_move(s) ? Done(UndoEdit{}) : Done(); }},
        {"keys.redo",
         {both(Key::z)},
         [](const AppState& s) { return in_sandbox(s) || can_redo_move(s) ? Done(RedoEdit{}) : Done(); }},
        {"keys.live",
         {},
         [](const AppState& s) { return in_sandbox(s) && !s.live ? Done(StartLive{}) : Done(); }},
        {"keys.presenter", {{Key::f5}}, opened<TogglePresenter>},
        {"keys.notes",
         {{Key::n}},
         [](const AppState& s) { return s.presenter ? Done(ToggleNotes{}) : Done(); }},
        {"keys.language",
         {{Key::l}},
         [](const AppState& s) {
             return Done(SetLanguage{s.language == Language::en ? Language::zh : Language::en});
         }},
        {"keys.theme", {{Key::t}}, [](const AppState& s) { return Done(SetTheme{next(s.theme)}); }},
        {"keys.larger",
         {control(Key::plus), both(Key::plus)},
         [](const AppState& s) { return Done(SetScale{s.scale + 0.25F}); }},
        {"keys.smaller",
         {control(Key::minus)},
         [](const AppState& s) { return Done(SetScale{s.scale - 0.25F}); }},
        {"keys.usual_size", {control(Key::digit0)}, [](const AppState&) { return Done(SetScale{1.0F}); }},
        {"keys.reduced_motion",
         {{Key::m}},
         [](const AppState& s) { return Done(SetReducedMotion{!s.reduced_motion}); }},
        {"keys.fold", {control(Key::digit1)}, opened<ToggleLesson>},
        {"keys.drawer", {{Key::f2}}, opened<ToggleDrawer>},
        {"keys.welcome", {control(Key::w)}, closed},
        {"keys.first_lesson",
         {{Key::enter}},
         [](const AppState& s) {
             if (s.document || s.loading) return Done();
             if (s.plan) return Done(OpenLayout{s.layout});
             const auto next = go_on_with(s);
             return next ? Done(OpenPath{s.offers[*next].id}) : Done();
         }},
        {"keys.open_path",
         {control(Key::o)},
         [](const AppState& s) {
             if (s.loading) return Done();
             // Over a run or a plan the list of commands takes the path: what is open stays until another is.
             return !s.picks_files && (s.document || s.plan) ? Done(TogglePalette{}) : Done(AskPath{});
         }},
    };
}

std::vector<Command> table() {
    std::vector<Command> all = moving_on();
    for (const auto& more : {looking(), others()}) all.insert(all.end(), more.begin(), more.end());
    return all;
}

bool has(const std::vector<KeyPress>& keys, KeyPress press) {
    return std::find(keys.begin(), keys.end(), press) != keys.end();
}

}  // namespace

const std::vector<Command>& commands() {
    static const std::vector<Command> made = table();
    return made;
}

const std::vector<KeyPress>& keys_of(const Command& command, const OwnKeys& own) {
    const auto found = own.find(command.id);
    return found == own.end() ? command.keys : found->second;
}

const Command* command_of(KeyPress press, const OwnKeys& own) {
    for (const bool chosen : {true, false})
        for (const Command& command : commands())
            if ((own.count(command.id) > 0) == chosen && has(keys_of(command, own), press)) return &command;
    if (!press.shift || press.control) return nullptr;
    return command_of({press.key, false, false}, own);
}

std::vector<KeyConflict> conflicts(const OwnKeys& own) {
    std::vector<KeyConflict> found;
    for (const Command& command : commands())
        for (const KeyPress press : keys_of(command, own)) {
            const Command* first = command_of(press, own);
            if (first != nullptr && first != &command) found.push_back({press, first->id, command.id});
        }
    return found;
}

}  // namespace meshscope::session
