#include "core/base/rank_set.h"

#include <algorithm>

namespace meshscope {
namespace {

constexpr std::size_t kLeastRange = 3, kLeastProgression = 5;

std::vector<int64_t> ascending(std::span<const int64_t> ranks) {
    std::vector<int64_t> sorted(ranks.begin(), ranks.end());
    std::sort(sorted.begin(), sorted.end());
    sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
    return sorted;
}

bool is_progression(const std::vector<int64_t>& sorted) {
    if (sorted.size() < kLeastProgression) return false;
    const int64_t step = sorted[1] - sorted[0];
    for (std::size_t i = 2; i < sorted.size(); ++i)
        if (sorted[i] - sorted[i - 1] != step) return false;
    return step > 1;
}

}  // namespace

FoldedRanks fold_ranks(std::span<const int64_t> ranks, std::size_t most) {
    const std::vector<int64_t> sorted = ascending(ranks);
    if (is_progression(sorted))
        return {std::to_string(sorted[0]) + ", " + std::to_string(sorted[1]) + ", …, " +
                    std::to_string(sorted.back()),
                0};
    struct Part {
        std::string text;
        int64_t ranks = 0;
    };
    std::vector<Part> parts;
    for (std::size_t first = 0; first < sorted.size();) {
        std::size_t last = first;
        while (last + 1 < sorted.size() && sorted[last + 1] == sorted[last] + 1) ++last;
        const std::size_t n = last - first + 1;
        if (n >= kLeastRange) {
            parts.push_back({std::to_string(sorted[first]) + "–" + std::to_string(sorted[last]),
                             static_cast<int64_t>(n)});
            first = last + 1;
        } else {
            parts.push_back({std::to_string(sorted[first]), 1});
            ++first;
        }
    }
    FoldedRanks folded;
    const std::size_t shown = parts.size() > most ? most - 1 : parts.size();
    for (std::size_t i = 0; i < parts.size(); ++i) {
        if (i < shown)
            folded.shown += (i == 0 ? "" : ", ") + parts[i].text;
        else
            folded.more += parts[i].ranks;
    }
    return folded;
}

std::string folded_ranks(std::span<const int64_t> ranks) {
    const FoldedRanks folded = fold_ranks(ranks);
    if (folded.more == 0) return folded.shown;
    return folded.shown + ", … (" + std::to_string(ascending(ranks).size()) + ")";
}

}  // namespace meshscope
