#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace meshscope {

/// The text without the blanks at its ends: spaces, tabs and line breaks.
inline std::string_view trimmed(std::string_view text) {
    constexpr std::string_view kBlanks = " \t\r\n";
    const std::size_t first = text.find_first_not_of(kBlanks);
    if (first == std::string_view::npos) return {};
    return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

/// Whether two texts are the same but for upper and lower case of a to z.
bool equal_ignoring_case(std::string_view a, std::string_view b);

/// A number's text with its exponent as people write it: "1e9" of "1e+09", "1e-7" of "1e-07".
std::string plain_exponent(std::string number);

/// A character of UTF-8: its code point and how many bytes it takes. A byte that belongs to none is one of
/// its own, and `valid` is false.
struct CodePoint {
    char32_t value = 0;
    std::size_t bytes = 1;
    bool valid = true;
};

/// The character that begins at byte i, by the table of well-formed sequences (Unicode, table 3-7): no
/// surrogates, none longer than it need be. Needs i < text.size().
CodePoint code_point_at(std::string_view text, std::size_t i);

/// Whether a character shows nothing of itself but changes what is shown: control characters (C0, DEL, C1),
/// those that turn the direction of a line or break it (U+202E, U+2028), those without any width (U+200B),
/// and the code points that are no characters at all (U+FFFE).
bool is_unseen(char32_t c);

/// Whether printable() would change anything. Cost: linear, and nothing is copied.
bool has_unseen(std::string_view text);

/// A text of unknown origin for a person or for a file: what could steer a terminal, hide words or turn them
/// round is shown as \u001b instead of obeyed, as JSON writes it (two of them beyond U+FFFF), but for the
/// characters in `kept`; a byte that is no UTF-8 as \xff. Cost: linear.
std::string printable(std::string_view text, std::string_view kept = "");

/// A text inside XML, between tags or quotes: printable(), because XML allows no control character but tabs
/// and line breaks and nothing that is not UTF-8, with its four signs as entities. Cost: linear.
std::string xml_text(std::string_view text);

}  // namespace meshscope
