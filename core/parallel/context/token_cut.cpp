#include "core/parallel/context/token_cut.h"

#include "core/base/error.h"

namespace meshscope::parallel {

TokenCut::TokenCut(int64_t tokens, int64_t ranks, bool head_tail)
    : tokens_(tokens), ranks_(ranks), head_tail_(head_tail) {
    const int64_t parts = head_tail ? 2 * ranks : ranks;
    if (ranks < 1 || tokens % parts != 0)
        throw InvalidArgument({"cp.uneven", {{"tokens", tokens}, {"parts", parts}, {"ranks", ranks}}});
}

std::vector<TokenCut::Run> TokenCut::runs(int64_t rank) const {
    if (!head_tail_) return {{rank * tokens_per_rank(), tokens_per_rank()}};
    const int64_t part = tokens_per_rank() / 2;
    return {{rank * part, part}, {tokens_ - (rank + 1) * part, part}};
}

std::vector<int64_t> TokenCut::positions(int64_t rank) const {
    std::vector<int64_t> positions;
    for (const Run& run : runs(rank))
        for (int64_t i = 0; i < run.n; ++i) positions.push_back(run.first + i);
    return positions;
}

int64_t TokenCut::seen_pairs(int64_t query_rank, int64_t key_rank, int64_t window) const {
    int64_t pairs = 0;
    // Both lists ascend: no later query's window begins or ends before an earlier one's.
    std::size_t seen = 0, past = 0;
    const std::vector<int64_t> keys = positions(key_rank);
    for (const int64_t query : positions(query_rank)) {
        while (seen < keys.size() && keys[seen] <= query) ++seen;
        while (window > 0 && past < seen && keys[past] <= query - window) ++past;
        pairs += static_cast<int64_t>(seen - past);
    }
    return pairs;
}

}  // namespace meshscope::parallel
