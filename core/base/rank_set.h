#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace meshscope {

/// A set of ranks as a person reads it, "0–21, 23–109", and how many more there are than could be shown.
struct FoldedRanks {
    std::string shown;
    int64_t more = 0;
};

/// How many parts (a rank, or a range) are shown of a set of ranks; of one that has more, one less.
inline constexpr std::size_t kShownRankParts = 8;

/// Ranks in any order: three or more in a row become a range ("0–3"), and five or more that stand equally far
/// apart, as the groups of a mesh dim do, one progression ("0, 8, …, 56"). `most` is at least 1. Cost: a sort.
FoldedRanks fold_ranks(std::span<const int64_t> ranks, std::size_t most = kShownRankParts);

/// The same as one text in no language, for what is worded the same in all: "0–21, 23, 25"; what is not shown
/// becomes "…" and the number of all: "0, 2, 3, 5, 8, 9, 11, … (40)". In messages the text says that a list
/// is one of ranks, {peers:ranks} (app/i18n/catalogue.h), and the list stays whole for programs.
std::string folded_ranks(std::span<const int64_t> ranks);

/// The same of any container.
template <class Ranks>
std::string ranks_text(const Ranks& ranks) {
    return folded_ranks(std::vector<int64_t>(ranks.begin(), ranks.end()));
}

/// The list of a message's argument.
template <class Ranks>
std::vector<int64_t> rank_list(const Ranks& ranks) {
    return {ranks.begin(), ranks.end()};
}

}  // namespace meshscope
