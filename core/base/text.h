#pragma once

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

/// A text of unknown origin (UTF-8) for a terminal: control characters, which could steer it, are shown as
/// \x1b instead of obeyed, but for those in `kept`.
inline std::string printable(std::string_view text, std::string_view kept = "") {
    constexpr std::string_view kHex = "0123456789abcdef";
    std::string shown;
    shown.reserve(text.size());
    const auto byte_at = [&](std::size_t i) {
        return static_cast<unsigned char>(i < text.size() ? text[i] : '\0');
    };
    for (std::size_t i = 0; i < text.size(); ++i) {
        const unsigned char byte = byte_at(i), next = byte_at(i + 1);
        const bool second_set = byte == 0xC2 && next >= 0x80 && next < 0xA0;  // U+0080 to U+009F
        if ((byte >= 0x20 && byte != 0x7F && !second_set) || kept.find(text[i]) != std::string_view::npos) {
            shown += text[i];
            continue;
        }
        const unsigned char code = second_set ? next : byte;
        (shown += "\\x").append({kHex[code >> 4], kHex[code & 15]});
        if (second_set) ++i;
    }
    return shown;
}

}  // namespace meshscope
