#pragma once

#include <exception>
#include <functional>
#include <iosfwd>
#include <string>
#include <vector>

#include "app/cli/command.h"
#include "core/scenario/lesson.h"
#include "core/scenario/scenario.h"

namespace meshscope::cli {

/// The value of a {{number}} in a lesson's text.
using Fill = std::function<std::string(const std::string& id)>;

/// The text in the program's language; in the other where it has none.
const std::string& in_language(const scenario::Text& text, const CommandContext& context);

/// Prints a text in lines of at most `width` columns; `first` stands before the first, `rest` before others.
void print_wrapped(const std::string& text, const std::string& first, const std::string& rest, int width,
                   std::ostream& out);

/// An error's words, indented and in yellow.
void print_error(const std::exception_ptr& failure, const CommandContext& context, int width);

/// Words in bold, in lines of at most `width` columns.
void print_heading(const std::string& words, const CommandContext& context, int width);

/// Paragraphs, lists, blocks of code and tables of a lesson's text, each with an empty line behind it; the
/// points of a list stand together. A table's columns of numbers stand to the right. Code and important words
/// are coloured where colour is on.
void print_paragraphs(const std::vector<scenario::Paragraph>& paragraphs, const Fill& fill, int width,
                      const CommandContext& context);

}  // namespace meshscope::cli
