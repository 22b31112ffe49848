#pragma once

#include <cstdint>
#include <string>

namespace meshscope::nn {

/// What stands between `up` and the activation of mlp's layers: torch.nn.BatchNorm1d, or
/// torch.nn.SyncBatchNorm, whose statistics are those of all data-parallel ranks' rows.
enum class Norm : uint8_t { none, batch, sync_batch };

/// The most that one of the sizes below may be.
inline constexpr int64_t kMostSize = 1 << 20;

/// What a scenario's [model] says. Fields that a kind does not use are ignored here and refused by the
/// scenario reader.
struct ModelSpec {
    std::string kind = "toy";     ///< toy, mlp, gpt, llama
    int64_t dim = 0;              ///< all but toy
    int64_t hidden = 0;           ///< all but toy
    int64_t layers = 0;           ///< all but toy
    int64_t vocab = 0;            ///< gpt, llama: tokens are 0 … vocab-1
    int64_t seq = 0;              ///< gpt, llama: tokens a sample
    int64_t heads = 0;            ///< gpt, llama: divides dim
    int64_t kv_heads = 0;         ///< llama: divides heads
    double rope_theta = 10000.0;  ///< llama
    bool tied = false;            ///< gpt, llama: head.weight is tok.weight
    bool bias = true;             ///< mlp: whether its linear layers have one
    Norm norm = Norm::none;       ///< mlp
};

}  // namespace meshscope::nn
