#pragma once

#include <algorithm>
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

/// The numbers from 1 to `most` that `good` accepts, nearest to `wanted`: one below and one above, where
/// there are such.
template <class Good>
std::vector<int64_t> nearest_of(int64_t wanted, int64_t most, Good good) {
    std::vector<int64_t> found;
    for (int64_t n = std::min(wanted, most); n >= 1 && found.empty(); --n)
        if (good(n)) found.push_back(n);
    for (int64_t n = wanted + 1; n <= most; ++n)
        if (good(n)) {
            found.push_back(n);
            break;
        }
    return found;
}

}  // namespace meshscope::scenario
