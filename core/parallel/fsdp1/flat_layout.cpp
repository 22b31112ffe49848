#include "core/parallel/fsdp1/flat_layout.h"

#include <algorithm>
#include <numeric>

namespace meshscope::parallel {
namespace {

int64_t up_to_multiple(int64_t n, int64_t of) {
    return (n + of - 1) / of * of;
}

}  // namespace

FlatLayout FlatLayout::of(std::span<const int64_t> sizes, int64_t alignment, int64_t ranks) {
    FlatLayout layout;
    layout.ranks = ranks;
    layout.sizes.assign(sizes.begin(), sizes.end());
    int64_t end = 0;
    for (const int64_t size : sizes) {
        const int64_t begin = up_to_multiple(end, alignment);
        layout.first.push_back(begin);
        end = begin + size;
    }
    layout.elements = up_to_multiple(end, ranks);
    return layout;
}

std::vector<FlatLayout::Piece> FlatLayout::pieces(int64_t rank) const {
    std::vector<Piece> found;
    const int64_t begin = rank * shard_elements(), end = begin + shard_elements();
    for (std::size_t i = 0; i < sizes.size(); ++i) {
        const int64_t from = std::max(begin, first[i]), to = std::min(end, first[i] + sizes[i]);
        if (from < to) found.push_back({i, from - first[i], from - begin, to - from});
    }
    return found;
}

int64_t FlatLayout::padding_of(int64_t rank) const {
    int64_t used = 0;
    for (const Piece& piece : pieces(rank)) used += piece.elements;
    return shard_elements() - used;
}

int64_t FlatLayout::padding() const {
    return elements - std::accumulate(sizes.begin(), sizes.end(), int64_t{0});
}

}  // namespace meshscope::parallel
