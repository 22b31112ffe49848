#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace meshscope {

/// Edits (insert, delete, replace, swap of neighbours; bytes) that turn `a` into `b`. Cost: |a|·|b|; words
/// over 64 bytes count as infinitely far.
int edit_distance(std::string_view a, std::string_view b);

/// The candidate that was most likely meant: at most a third of the word's length in edits (one edit at
/// least), whatever their case; the first among equals; "" when none is near.
std::string nearest(std::string_view word, const std::vector<std::string>& candidates);

}  // namespace meshscope
