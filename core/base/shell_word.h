#pragma once

#include <string>
#include <string_view>

namespace meshscope {

/// A text as one word of a command that a person can paste into a POSIX shell: as it is where no character
/// means anything there, else in single quotes.
inline std::string shell_word(std::string_view text) {
    constexpr std::string_view kPlain =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./:,@%";
    if (!text.empty() && text.find_first_not_of(kPlain) == std::string_view::npos) return std::string(text);
    std::string word = "'";
    for (const char c : text)
        if (c == '\'')
            word += "'\\''";
        else
            word += c;
    return word + "'";
}

}  // namespace meshscope
