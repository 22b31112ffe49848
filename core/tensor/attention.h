#pragma once

#include <cstdint>

#include "core/tensor/tensor.h"

namespace meshscope::tensor {

/// What rotary() turns: a tensor of (batch, tokens, heads · head_dim). Pairs (2i, 2i+1) of a head's elements
/// at position t turn by the angle t · theta^(-2i/head_dim). RoFormer (arXiv 2104.09864), as golden llama
/// has it.
struct RotaryShape {
    int64_t batch = 0;
    int64_t tokens = 0;
    int64_t heads = 0;
    int64_t head_dim = 0;  ///< even
    double theta = 10000.0;
    int64_t first_position = 0;  ///< of token 0, where `positions` is undefined
    Tensor
        positions{};  ///< int64 (tokens), or undefined: first_position + 0, 1, 2 … (a cut sequence has holes)
};

/// What one attention call works on. Queries, keys and values stay where linear layers put them: q, o are
/// (batch, q_tokens, heads · head_dim); k, v are (batch, k_tokens, kv_heads · head_dim). Query head h uses
/// key/value head h / (heads / kv_heads).
struct AttentionShape {
    int64_t batch = 0;
    int64_t q_tokens = 0;
    int64_t k_tokens = 0;
    int64_t heads = 0;
    int64_t kv_heads = 0;  ///< divides heads
    int64_t head_dim = 0;
    bool causal = true;  ///< a query sees the keys whose position is not after its own
    double scale = 1.0;  ///< of the scores; 1/√head_dim in the models
    /// int64 (q_tokens) and (k_tokens), or undefined: 0, 1, 2 …. Used by causal masks only: a rank of context
    /// parallel holds tokens that are not neighbours.
    Tensor q_positions{};
    Tensor k_positions{};
    /// How many pairs of a query and a key that it sees one head has, where positions decide that and the
    /// host knows it; -1: as pairs() says. For what the call costs; kernels do not look at it.
    int64_t n_pairs = -1;

    /// Pairs of one head of one batch row: all, or those that a causal mask over tokens 0, 1, 2 … leaves.
    int64_t pairs() const {
        if (n_pairs >= 0) return n_pairs;
        return causal ? q_tokens * (k_tokens + 1) / 2 : q_tokens * k_tokens;
    }
};

}  // namespace meshscope::tensor
