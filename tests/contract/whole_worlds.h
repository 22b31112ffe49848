#pragma once

#include <cstdint>
#include <numeric>
#include <vector>

namespace meshscope::contract {

/// Whether all ranks live in this process: then it judges all of them.
inline constexpr bool kOneProcess = true;
inline std::vector<int32_t> judged_ranks(int32_t p) {
    std::vector<int32_t> ranks(static_cast<std::size_t>(p));
    std::iota(ranks.begin(), ranks.end(), 0);
    return ranks;
}
/// Whether worlds of p ranks can be had.
inline bool has_ranks(int32_t) {
    return true;
}
/// Of the cases for p ranks those that are run.
template <class Case>
std::vector<Case> sampled(std::vector<Case> cases, int32_t) {
    return cases;
}

}  // namespace meshscope::contract
