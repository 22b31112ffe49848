#pragma once

#include <string>

namespace meshscope {

/// Of ASCII, whatever the locale.
inline bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

/// A decimal number's text with a comma before every third digit of its whole part, as SQLite's
/// printf('%,d') has it: "16,093.5" of "16093.5". A sign stays in front; "inf", "nan" and exponents' digits
/// are left alone.
inline std::string grouped(std::string number) {
    const std::size_t first = number.find_first_of("0123456789");
    if (first == std::string::npos) return number;
    const std::size_t end = number.find_first_not_of("0123456789", first);
    for (std::size_t at = end == std::string::npos ? number.size() : end; at > first + 3;) {
        at -= 3;
        number.insert(at, ",");
    }
    return number;
}

}  // namespace meshscope
