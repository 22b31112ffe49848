#pragma once

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

namespace meshscope::cli {

/// Columns a terminal gives a text: Chinese and other wide characters count 2, ASCII 1, colours (ESC [ … m)
/// nothing, and what printable() shows in another way as much as that.
int display_width(std::string_view text);

/// The beginning of a text without colours that takes at most `width` columns.
std::string cut_to_width(std::string_view text, int width);

/// A table for a terminal. The header may be empty; rows may be ragged.
struct Table {
    std::vector<std::string> header;
    std::vector<std::vector<std::string>> rows;
    std::vector<bool> right;  ///< columns aligned right (numbers); missing = left
};

/// Of a table with a row a rank, whose number stands in the first column, and more rows than people read:
/// makes one row of all ranks whose rows are equal but for the columns `own`, which say what a rank alone has
/// and become "…": "0–127". Cost: rows × kinds of rows.
void fold_rank_rows(Table& table, const std::vector<std::size_t>& own = {});
inline constexpr std::size_t kMostRankRows = 16;

/// Columns as wide as their widest cell, two spaces between, no line ends with spaces. A line break within a
/// cell is shown as printable() does: a row is a line.
void print_table(const Table& table, std::ostream& out);

/// Nanoseconds as milliseconds for people: about four digits, and never an exponent.
std::string milliseconds(int64_t ns);

/// Breaks a text at spaces (Chinese: anywhere but before its punctuation) into lines of at most `width`
/// columns; keeps its own line breaks. Inline `code` (or ESC [ 36 m) breaks only where wider than a line.
std::vector<std::string> wrap(std::string_view text, int width);

}  // namespace meshscope::cli
