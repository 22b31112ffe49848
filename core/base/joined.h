#pragma once

#include <functional>
#include <string>

namespace meshscope {

/// The items with ", " between them: "op, dtype"; `text_of` makes text of each that is none.
template <class Items, class TextOf = std::identity>
std::string joined(const Items& items, TextOf text_of = {}) {
    std::string text;
    bool first = true;
    for (const auto& item : items) {
        if (!first) text += ", ";
        first = false;
        text += text_of(item);
    }
    return text;
}

/// The same of whole numbers: "1, 2, 3".
template <class Numbers>
std::string joined_numbers(const Numbers& numbers) {
    return joined(numbers, [](auto number) { return std::to_string(number); });
}

}  // namespace meshscope
