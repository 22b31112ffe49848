#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/parallel/mixed_precision.h"

namespace meshscope::parallel {

/// torch.distributed.fsdp.ShardingStrategy.
enum class ShardingStrategy : uint8_t {
    full_shard,          ///< freed after forward and after backward
    shard_grad_op,       ///< freed after backward only
    hybrid_shard,        ///< full_shard inside a shard group, gradients all-reduced across the replicas
    hybrid_shard_zero2,  ///< shard_grad_op inside a shard group, likewise
    no_shard             ///< DDP's all_reduce over whole parameters
};

/// "full_shard" …, as a scenario file has them.
std::string_view name(ShardingStrategy strategy);

inline constexpr bool is_hybrid(ShardingStrategy s) {
    return s == ShardingStrategy::hybrid_shard || s == ShardingStrategy::hybrid_shard_zero2;
}
inline constexpr bool frees_after_forward(ShardingStrategy s) {
    return s == ShardingStrategy::full_shard || s == ShardingStrategy::hybrid_shard;
}

/// torch.distributed.fsdp.BackwardPrefetch: when the next unit of backward is gathered.
enum class BackwardPrefetch : uint8_t {
    none,  ///< when its own backward begins
    pre,   ///< before this unit's backward: two units' parameters and this one's gradients are alive at once
    post   ///< after this unit's backward and free, before its gradients are reduced
};

struct Fsdp1Options {
    ShardingStrategy strategy = ShardingStrategy::full_shard;
    BackwardPrefetch backward_prefetch = BackwardPrefetch::pre;
    bool forward_prefetch = false;  ///< from the second step on, gather the next unit of forward early
    bool limit_all_gathers = true;  ///< at most two gathers beyond what was freed
    bool use_orig_params = true;    ///< each parameter begins at a multiple of 16 bytes
    MixedPrecision precision;
    /// Module names of each unit; what no unit names is the root's. Empty: as `wrap_min_elements` says.
    std::vector<std::vector<std::string>> units;
    /// > 0: size_based_auto_wrap_policy; 0: the model's layers, one unit each.
    int64_t wrap_min_elements = 0;
    /// The root unit is freed like any other. FSDP1 keeps it from forward to backward; ZeRO-3 does not.
    bool free_root = false;
    /// Gradients travel in every micro-batch and are summed in shards. FSDP1 here accumulates under
    /// no_sync(); ZeRO keeps no whole gradients.
    bool reduce_each_microbatch = false;
    /// Which rules its collectives are recorded under: "fsdp1" or "zero3".
    bool zero_names = false;
};

}  // namespace meshscope::parallel
