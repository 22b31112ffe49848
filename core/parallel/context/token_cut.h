#pragma once

#include <cstdint>
#include <vector>

namespace meshscope::parallel {

/// Which tokens of a sequence each rank of a cp group holds. Contiguous: rank r of N the r-th part of N.
/// Head-tail, for causal attention: the sequence in 2N parts, rank r the r-th from the front and the r-th
/// from the back, so that all ranks have equally many pairs of query and key to compute.
///
/// Example, 16 tokens on 4 ranks: [0,1,14,15 | 2,3,12,13 | 4,5,10,11 | 6,7,8,9]. Source:
/// torch/distributed/tensor/experimental/_context_parallel/_load_balancer.py, _HeadTailLoadBalancer.
class TokenCut {
  public:
    /// Neighbouring tokens.
    struct Run {
        int64_t first = 0;
        int64_t n = 0;
    };

    /// Throws InvalidArgument ("cp.uneven") where the sequence does not divide by the ranks, or head-tail by
    /// twice the ranks.
    TokenCut(int64_t tokens, int64_t ranks, bool head_tail);

    int64_t tokens_per_rank() const { return tokens_ / ranks_; }
    int64_t ranks() const { return ranks_; }
    /// A rank's tokens in the order in which it holds them, which is ascending: one run, or head and tail.
    std::vector<Run> runs(int64_t rank) const;
    /// The same, token by token.
    std::vector<int64_t> positions(int64_t rank) const;
    /// How many pairs a causal mask leaves of `query_rank`'s queries and `key_rank`'s keys, each query seeing
    /// itself and the window - 1 tokens before it (0: all). O(tokens a rank).
    int64_t seen_pairs(int64_t query_rank, int64_t key_rank, int64_t window = 0) const;

  private:
    int64_t tokens_;
    int64_t ranks_;
    bool head_tail_;
};

}  // namespace meshscope::parallel
