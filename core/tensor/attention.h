#pragma once

#include <cstdint>

#include "core/tensor/tensor.h"

namespace meshscope::tensor {

/// How the frequencies of rotary positions are stretched for sequences longer than a model was first trained
/// on. `linear` divides each by `factor` (arXiv 2306.15595). `llama3` divides those whose wavelength is above
/// original_tokens / low_freq_factor, leaves those below original_tokens / high_freq_factor, and blends
/// between: Llama 3.1's rule, `rope_type` "llama3" of transformers' modeling_rope_utils.py.
struct RopeScaling {
    enum class Kind : uint8_t { none, linear, llama3 };
    Kind kind = Kind::none;
    double factor = 1.0;
    double low_freq_factor = 1.0;    ///< llama3
    double high_freq_factor = 4.0;   ///< llama3: greater than low_freq_factor
    int64_t original_tokens = 8192;  ///< llama3
    friend bool operator==(const RopeScaling&, const RopeScaling&) = default;
};

/// The `pair`-th of the head_dim / 2 angles a token's place is turned by: theta^(-2·pair/head_dim), scaled.
double rotary_frequency(double theta, int64_t head_dim, const RopeScaling& scaling, int64_t pair);

/// What rotary() turns: a tensor of (batch, tokens, heads · head_dim). The i-th pair of a head's elements at
/// position t turns by the angle t · theta^(-2i/head_dim), scaled. RoFormer (arXiv 2104.09864).
struct RotaryShape {
    int64_t batch = 0;
    int64_t tokens = 0;
    int64_t heads = 0;
    int64_t head_dim = 0;  ///< even
    double theta = 10000.0;
    int64_t first_position = 0;  ///< of token 0, where `positions` is undefined
    Tensor
        positions{};  ///< int64 (tokens), or undefined: first_position + 0, 1, 2 … (a cut sequence has holes)
    /// Which two elements are the i-th pair: false: 2i and 2i + 1, as Meta's own code has them; true: i and
    /// i + head_dim / 2, as transformers' weights want it.
    bool halves = false;
    RopeScaling scaling{};
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
    /// With `causal`: a query sees its own position and the window - 1 before it; 0: all before it. Sliding
    /// window attention (arXiv 2310.06825).
    int64_t window = 0;
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
        if (causal && window > 0 && window < q_tokens && q_tokens == k_tokens)
            return window * (window + 1) / 2 + (q_tokens - window) * window;
        return causal ? q_tokens * (k_tokens + 1) / 2 : q_tokens * k_tokens;
    }
};

}  // namespace meshscope::tensor
