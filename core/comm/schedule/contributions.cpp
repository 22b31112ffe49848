#include "core/comm/schedule/contributions.h"

#include <algorithm>

namespace meshscope::comm {

Contributions::Contributions(int32_t ranks) : ranks_(ranks) {
    id_of(Counts(static_cast<std::size_t>(ranks), 0));
}

Contributions::Id Contributions::id_of(const Counts& counts) {
    const auto [at, is_new] = ids_.emplace(counts, static_cast<Id>(sets_.size()));
    if (is_new) sets_.push_back(counts);
    return at->second;
}

Contributions::Id Contributions::of(int32_t rank) {
    Counts counts(static_cast<std::size_t>(ranks_), 0);
    counts[static_cast<std::size_t>(rank)] = 1;
    return id_of(counts);
}

Contributions::Id Contributions::all() {
    return id_of(Counts(static_cast<std::size_t>(ranks_), 1));
}

Contributions::Id Contributions::combined(Id a, Id b) {
    const auto pair = std::minmax(a, b);
    if (const auto known = combined_.find(pair); known != combined_.end()) return known->second;
    Counts counts = sets_[static_cast<std::size_t>(a)];
    const Counts& other = sets_[static_cast<std::size_t>(b)];
    for (std::size_t i = 0; i < counts.size(); ++i)
        counts[i] = static_cast<uint8_t>(std::min(2, counts[i] + other[i]));
    return combined_[pair] = id_of(counts);
}

std::vector<int32_t> Contributions::missing(Id found, Id wanted) const {
    std::vector<int32_t> ranks;
    for (int32_t r = 0; r < ranks_; ++r) {
        const auto at = static_cast<std::size_t>(r);
        if (sets_[static_cast<std::size_t>(wanted)][at] > 0 && sets_[static_cast<std::size_t>(found)][at] == 0)
            ranks.push_back(r);
    }
    return ranks;
}

std::vector<int32_t> Contributions::twice(Id found) const {
    std::vector<int32_t> ranks;
    for (int32_t r = 0; r < ranks_; ++r)
        if (sets_[static_cast<std::size_t>(found)][static_cast<std::size_t>(r)] > 1) ranks.push_back(r);
    return ranks;
}

}  // namespace meshscope::comm
