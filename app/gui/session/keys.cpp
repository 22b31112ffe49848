#include "app/gui/session/keys.h"

#include "app/gui/view/traffic.h"

namespace meshscope::session {
namespace {

using view::Language;
using view::ViewKind;
using window::Key;
using window::ThemeKind;

ThemeKind next(ThemeKind theme) {
    return theme == ThemeKind::dark    ? ThemeKind::light
           : theme == ThemeKind::light ? ThemeKind::contrast
                                       : ThemeKind::dark;
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

std::optional<Action> control_action(const AppState& s, window::KeyPress press, bool typing) {
    switch (press.key) {
        case Key::z:
            // A field that is being typed in has its own.
            if (typing || !s.sandbox || !s.sandbox->open) return {};
            return press.shift ? Action(RedoEdit{}) : Action(UndoEdit{});
        case Key::enter:
            if (s.sandbox && s.sandbox->open) return RunSandbox{};
            return {};
        case Key::plus:
            return SetScale{s.scale + 0.25F};
        case Key::minus:
            return SetScale{s.scale - 0.25F};
        case Key::digit0:
            return SetScale{1.0F};
        case Key::digit1:
            return ToggleLesson{};
        case Key::left:
            return MoveSelection{0, -1};
        case Key::right:
            return MoveSelection{0, 1};
        case Key::up:
            return MoveSelection{-1, 0};
        case Key::down:
            return MoveSelection{1, 0};
        default:
            return {};
    }
}

}  // namespace

std::optional<Action> key_action(const AppState& s, window::KeyPress press, bool typing) {
    if (press.control) return control_action(s, press, typing);
    if (press.key == Key::escape) return ClearSelection{};
    if (typing) return {};
    switch (press.key) {
        case Key::space:
            return TogglePlay{};
        case Key::left:
            return press.shift ? Action(StepEvent{-1}) : Action(StepHop{-1});
        case Key::right:
            return press.shift ? Action(StepEvent{1}) : Action(StepHop{1});
        case Key::home:
            return JumpTo{false};
        case Key::end:
            return JumpTo{true};
        case Key::digit1:
            return SetView{ViewKind::mesh};
        case Key::digit2:
            return SetView{ViewKind::collective};
        case Key::digit3:
            return SetView{ViewKind::timeline};
        case Key::digit4:
            return SetView{ViewKind::memory};
        case Key::digit5:
            return SetView{ViewKind::parameters};
        case Key::digit6:
            return SetView{ViewKind::traffic};
        case Key::digit7:
            return SetView{ViewKind::compare};
        case Key::digit8:
            return SetView{ViewKind::code};
        case Key::o:
        case Key::s:
            if (s.view != ViewKind::traffic || !s.document) return {};
            return SetTraffic{press.key == Key::o ? next_op(s) : next_span(s.traffic)};
        case Key::e:
            if (s.document) return ToggleSandbox{};
            return {};
        case Key::l:
            return SetLanguage{s.language == Language::en ? Language::zh : Language::en};
        case Key::t:
            return SetTheme{next(s.theme)};
        case Key::question:
        case Key::f1:
            return ToggleKeySheet{};
        case Key::f2:
            return ToggleDrawer{};
        case Key::up:
            return GoToLessonStep{s.lesson_step - 1};
        case Key::down:
            return GoToLessonStep{s.lesson_step + 1};
        case Key::enter:
            if (!s.document && !s.loading && !s.offers.empty()) return OpenPath{s.offers.front().id};
            return {};
        default:
            return {};
    }
}

const std::vector<KeyHelp>& key_help() {
    static const std::vector<KeyHelp> rows = {{"Space", "keys.play"},        {"← →", "keys.hop"},
                                              {"Shift ← →", "keys.event"},   {"Home End", "keys.ends"},
                                              {"↑ ↓", "keys.lesson"},        {"1 … 8", "keys.views"},
                                              {"Ctrl ← ↑ ↓ →", "keys.move"}, {"O S", "keys.traffic"},
                                              {"Esc", "keys.clear"},         {"L", "keys.language"},
                                              {"T", "keys.theme"},           {"Ctrl + −", "keys.scale"},
                                              {"Ctrl 1", "keys.fold"},       {"E", "keys.sandbox"},
                                              {"Ctrl Enter", "keys.run"},    {"Ctrl Z", "keys.undo"},
                                              {"Ctrl Shift Z", "keys.redo"}, {"F2", "keys.drawer"},
                                              {"Tab", "keys.focus"},         {"?", "keys.sheet"}};
    return rows;
}

}  // namespace meshscope::session
