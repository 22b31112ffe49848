#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace meshscope::scenario {

/// Edits (insert, delete, replace, swap of neighbours; bytes) that turn `a` into `b`. Cost: |a|·|b|; words
/// over 64 bytes count as infinitely far.
int edit_distance(std::string_view a, std::string_view b);

/// The candidate that was most likely meant: at most a third of the word's length in edits (one edit at
/// least), the first among equals; "" when none is near.
std::string nearest(std::string_view word, const std::vector<std::string>& candidates);

/// The numbers from 1 to `most` that divide every one of `sizes`, as text: "1, 2, 4".
std::string dividing_all(const std::vector<int64_t>& sizes, int64_t most);

}  // namespace meshscope::scenario
