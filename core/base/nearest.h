#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace meshscope {

/// Edits (insert, delete, replace, swap of neighbours; bytes) that turn `a` into `b`. Cost: |a|·|b|; words
/// over 64 bytes count as infinitely far.
int edit_distance(std::string_view a, std::string_view b);

/// The candidates that may have been meant, the most likely first: at most a third of the word's length in
/// edits (one edit at least), whatever their case; among equals in their order.
std::vector<std::string> near_words(std::string_view word, const std::vector<std::string>& candidates);

/// The first of near_words(): the candidate that was most likely meant; "" when none is near.
std::string nearest(std::string_view word, const std::vector<std::string>& candidates);

}  // namespace meshscope
