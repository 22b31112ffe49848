#include "app/gui/session/keys.h"

#include <array>
#include <cctype>

#include "app/gui/session/commands.h"

namespace meshscope::session {
namespace {

using window::Key;
using window::KeyPress;

struct Named {
    Key key;
    const char* name;
    const char* label;
};
constexpr std::array<Named, 19> kNamed{{{Key::space, "Space", "Space"},
                                        {Key::left, "Left", "←"},
                                        {Key::right, "Right", "→"},
                                        {Key::up, "Up", "↑"},
                                        {Key::down, "Down", "↓"},
                                        {Key::home, "Home", "Home"},
                                        {Key::end, "End", "End"},
                                        {Key::page_up, "PageUp", "PgUp"},
                                        {Key::page_down, "PageDown", "PgDn"},
                                        {Key::enter, "Enter", "Enter"},
                                        {Key::escape, "Esc", "Esc"},
                                        {Key::tab, "Tab", "Tab"},
                                        {Key::backspace, "Backspace", "Backspace"},
                                        {Key::remove, "Delete", "Del"},
                                        {Key::plus, "Plus", "+"},
                                        {Key::minus, "Minus", "−"},
                                        {Key::question, "?", "?"},
                                        {Key::left_bracket, "[", "["},
                                        {Key::right_bracket, "]", "]"}}};

/// What stands between `first` and `last` is numbered or lettered on from `from`.
std::string counted(Key key, Key first, Key last, const std::string& before, int from, bool letters) {
    if (key < first || key > last) return {};
    const int n = from + static_cast<int>(key) - static_cast<int>(first);
    return before + (letters ? std::string(1, static_cast<char>(n)) : std::to_string(n));
}

std::string bare(Key key, bool label) {
    for (const Named& named : kNamed)
        if (named.key == key) return label ? named.label : named.name;
    for (const std::string& word :
         {counted(key, Key::f1, Key::f12, "F", 1, false),
          counted(key, Key::digit0, Key::digit9, "", 0, false), counted(key, Key::a, Key::z, "", 'A', true)})
        if (!word.empty()) return word;
    return {};
}

bool same_letters(std::string_view a, std::string_view b) {
    if (a.size() != b.size()) return false;
    for (std::size_t i = 0; i < a.size(); ++i)
        if (std::toupper(static_cast<unsigned char>(a[i])) != std::toupper(static_cast<unsigned char>(b[i])))
            return false;
    return true;
}

}  // namespace

std::string key_name(KeyPress press) {
    // "?" is typed with Shift on most keyboards; the sign says it already.
    const bool shift = press.shift && press.key != Key::question;
    return std::string(press.control ? "Ctrl+" : "") + (shift ? "Shift+" : "") + bare(press.key, false);
}

std::string key_label(KeyPress press) {
    const bool shift = press.shift && press.key != Key::question;
    return std::string(press.control ? "Ctrl " : "") + (shift ? "Shift " : "") + bare(press.key, true);
}

std::optional<KeyPress> parse_key(std::string_view name) {
    KeyPress press;
    for (std::size_t plus = name.find('+'); plus != std::string_view::npos && plus + 1 < name.size();
         plus = name.find('+')) {
        const std::string_view word = name.substr(0, plus);
        if (same_letters(word, "Ctrl") && !press.control)
            press.control = true;
        else if (same_letters(word, "Shift") && !press.shift)
            press.shift = true;
        else
            return {};
        name.remove_prefix(plus + 1);
    }
    for (int key = static_cast<int>(Key::other) + 1; key <= static_cast<int>(Key::z); ++key) {
        press.key = static_cast<Key>(key);
        if (!same_letters(bare(press.key, false), name)) continue;
        if (press.key == Key::question) press.shift = true;
        return press;
    }
    return {};
}

namespace {

/// What moves or deletes by words in a text field, or takes back what was typed, with Control or without.
bool is_of_field(window::Key key) {
    switch (key) {
        case window::Key::left:
        case window::Key::right:
        case window::Key::home:
        case window::Key::end:
        case window::Key::backspace:
        case window::Key::remove:
        case window::Key::z:
            return true;
        default:
            return false;
    }
}

}  // namespace

std::optional<Action> key_action(const AppState& s, window::KeyPress press, bool typing) {
    // While somebody types, letters and arrows are the field's.
    if (typing && !press.control && press.key != window::Key::escape) return {};
    if (typing && is_of_field(press.key)) return {};
    const Command* command = command_of(press, s.remembered.keys);
    return command != nullptr ? command->action(s) : std::nullopt;
}

}  // namespace meshscope::session
