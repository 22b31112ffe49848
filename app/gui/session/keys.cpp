#include "app/gui/session/keys.h"

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

std::optional<Action> control_action(const AppState& s, Key key) {
    switch (key) {
        case Key::plus:
            return SetScale{s.scale + 0.25F};
        case Key::minus:
            return SetScale{s.scale - 0.25F};
        case Key::digit0:
            return SetScale{1.0F};
        case Key::digit1:
            return ToggleLesson{};
        default:
            return {};
    }
}

}  // namespace

std::optional<Action> key_action(const AppState& s, window::KeyPress press, bool typing) {
    if (press.control) return control_action(s, press.key);
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
        case Key::digit7:
            return SetView{ViewKind::compare};
        case Key::digit8:
            return SetView{ViewKind::code};
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
    static const std::vector<KeyHelp> rows = {
        {"Space", "keys.play"},     {"← →", "keys.hop"},     {"Shift ← →", "keys.event"},
        {"Home End", "keys.ends"},  {"↑ ↓", "keys.lesson"},  {"1 … 8", "keys.views"},
        {"Esc", "keys.clear"},      {"L", "keys.language"},  {"T", "keys.theme"},
        {"Ctrl + −", "keys.scale"}, {"Ctrl 1", "keys.fold"}, {"F2", "keys.drawer"},
        {"Tab", "keys.focus"},      {"?", "keys.sheet"}};
    return rows;
}

}  // namespace meshscope::session
