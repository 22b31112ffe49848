#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/base/message.h"
#include "core/scenario/lesson.h"

namespace meshscope::scenario {

/// What the ids of sections and numbers are made of.
inline constexpr std::string_view kIdLetters = "abcdefghijklmnopqrstuvwxyz0123456789-_";

/// The place of the character that begins at `byte` of a line: 1 for the first. Characters, not bytes.
int column_of(std::string_view line, std::size_t byte);

/// What is wrong with one line of a lesson's text.
struct LineMistake {
    int column = 0;
    Message message;
    Message hint;  ///< what would be right; its id may be empty
};

/// Where a line stands.
struct LineKind {
    bool in_code = false;           ///< inside a ``` block
    bool begins_paragraph = false;  ///< no words stand on the line before
};

/// Everything that can be said against a line without the lines around it: bytes that are no UTF-8, control
/// characters, {{numbers}} that are not closed or have no id, full-width marks, and Markdown that a lesson
/// does not have: deeper headings, other lists, quotes, rules, pictures, HTML. In a block of code only the
/// first three. Cost: linear in the line.
std::vector<LineMistake> line_mistakes(std::string_view line, LineKind kind);

/// The {{numbers}} of a line, in order, without its own number; those that are not closed are none.
std::vector<NamedNumber> line_numbers(std::string_view line);

}  // namespace meshscope::scenario
