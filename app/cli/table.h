#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

namespace meshscope::cli {

/// Columns a terminal gives a text: Chinese and other wide characters count 2, ASCII 1, colours (ESC [ … m)
/// nothing. Invalid bytes count 1.
int display_width(std::string_view text);

/// A table for a terminal. The header may be empty; rows may be ragged.
struct Table {
    std::vector<std::string> header;
    std::vector<std::vector<std::string>> rows;
    std::vector<bool> right;  ///< columns aligned right (numbers); missing = left
};

/// Columns as wide as their widest cell, two spaces between, no line ends with spaces.
void print_table(const Table& table, std::ostream& out);

/// Nanoseconds as milliseconds for people: about four digits, and never an exponent.
std::string milliseconds(int64_t ns);

/// Breaks a text at spaces (Chinese: anywhere but before its punctuation) into lines of at most `width`
/// columns; keeps its own line breaks. Inline `code` (or ESC [ 36 m) breaks only where wider than a line.
std::vector<std::string> wrap(std::string_view text, int width);

}  // namespace meshscope::cli
