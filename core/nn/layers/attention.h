#pragma once

#include <functional>
#include <optional>
#include <string>

#include "core/nn/layers/linear.h"
#include "core/tensor/attention.h"

namespace meshscope::nn {

/// Where in the sequence the tokens stand that a model sees: first, first + 1 …, or, where a sequence is cut
/// into parts that are not neighbours, as `tokens` (int64, one a token) says.
struct Positions {
    int64_t first = 0;
    Tensor tokens{};
};

/// Causal attention of q (batch, tokens, heads · head_dim) and k (batch, tokens, kv_heads · head_dim), scaled
/// by 1/√head_dim, without positions. Throws InvalidArgument ("kernel.shape") where they are not that.
tensor::AttentionShape attention_shape(const Tensor& q, const Tensor& k, int64_t head_dim);

/// q (batch, tokens, heads · head_dim), k and v (batch, tokens, kv_heads · head_dim) → (batch, tokens, heads
/// · head_dim), softmax(q·kᵀ/√head_dim)·v, a query seeing no key after its own position. The numbers of heads
/// are read from the tensors: of a cut projection, those that are there.
///
/// Keeps q, k, v, the output and one log-sum-exp a row, never the matrix of scores. Events "attention",
/// "attention.backward" (4 and 10 flops a pair of query and key, head and element).
Variable attention(Tape& tape, Variable q, Variable k, Variable v, int64_t head_dim,
                   const Positions& positions = {});

/// x (batch, tokens, heads · head_dim) turned by its positions: pairs (2i, 2i+1) by t·theta^(-2i/head_dim).
/// Keeps nothing but the positions. Events "rotary", "rotary.backward".
Variable rotary(Tape& tape, Variable x, int64_t head_dim, double theta, const Positions& positions = {});

/// wo(attention(wq x, wk x, wv x)), with rotary positions on queries and keys where `rope_theta` is given;
/// grouped-query attention where wk and wv have fewer rows than wq.
class Attention final : public Layer {
  public:
    /// `positions` outlives the module.
    Attention(std::string name, Linear* wq, Linear* wk, Linear* wv, Linear* wo, int64_t head_dim,
              std::optional<double> rope_theta, const Positions* positions);

    int64_t head_dim() const { return head_dim_; }
    const Positions& positions() const { return *positions_; }

    /// What stands between the projections and wo; empty: attention(). Context parallelism puts its own
    /// here. It releases none of q, k, v.
    std::function<Variable(Tape&, Variable q, Variable k, Variable v)> core;

  protected:
    Variable compute(Tape& tape, Variable x) override;

  private:
    Linear* wq_;
    Linear* wk_;
    Linear* wv_;
    Linear* wo_;
    int64_t head_dim_;
    std::optional<double> rope_theta_;
    const Positions* positions_;
};

}  // namespace meshscope::nn
