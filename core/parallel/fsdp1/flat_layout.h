#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace meshscope::parallel {

/// How FSDP1's FlatParameter lays a unit's parameters out: one after the other, each at a multiple of
/// `alignment` elements, the whole padded to a multiple of the ranks, and cut into equal shards that do not
/// care where a parameter ends. Source: torch/distributed/fsdp/_flat_param.py, FlatParamHandle.__init__.
///
/// Examples: Linear(10,10) on 4 ranks, 100 + 10 → 112, 28 a rank; ToyModel as one unit with alignment 4,
/// 100 + 10 + (2) + 50 + (2) + 5 + (3) → 172, 43 a rank: rank 0 holds 43 elements of net1.weight, rank 3 33
/// of net2.weight and net2.bias.
struct FlatLayout {
    /// A run of a parameter's elements inside one shard.
    struct Piece {
        std::size_t parameter = 0;
        int64_t first_in_parameter = 0;
        int64_t first_in_shard = 0;
        int64_t elements = 0;
    };

    std::vector<int64_t> sizes;  ///< elements of each parameter
    std::vector<int64_t> first;  ///< where each begins
    int64_t elements = 0;        ///< padding included
    int64_t ranks = 1;

    static FlatLayout of(std::span<const int64_t> sizes, int64_t alignment, int64_t ranks);

    int64_t shard_elements() const { return elements / ranks; }
    /// What of the parameters lies in `rank`'s shard, in order; perhaps nothing.
    std::vector<Piece> pieces(int64_t rank) const;
    /// Elements of `rank`'s shard that belong to no parameter.
    int64_t padding_of(int64_t rank) const;
    /// Of the whole.
    int64_t padding() const;
};

}  // namespace meshscope::parallel
