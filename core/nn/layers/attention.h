#pragma once

#include <functional>
#include <optional>
#include <string>

#include "core/nn/layers/linear.h"
#include "core/nn/layers/norm.h"
#include "core/tensor/attention.h"

namespace meshscope::nn {

/// Where in the sequence the tokens stand that a model sees: first, first + 1 …, or, where a sequence is cut
/// into parts that are not neighbours, as `tokens` (int64, one a token) says.
struct Positions {
    int64_t first = 0;
    Tensor tokens{};
};

/// How a layer's heads attend.
struct AttentionForm {
    int64_t head_dim = 0;
    int64_t window = 0;  ///< tokens that a query sees, itself the last; 0: all before it
    double scale = 0;    ///< of the scores; 0: 1/√head_dim
};

/// How a layer turns queries and keys by their positions: what RotaryShape says beside the sizes.
struct RotaryForm {
    double theta = 10000.0;
    bool halves = false;
    tensor::RopeScaling scaling{};
};

/// Causal attention of q (batch, tokens, heads · head_dim) and k (batch, tokens, kv_heads · head_dim),
/// without positions. Throws InvalidArgument ("kernel.shape") where they are not that.
tensor::AttentionShape attention_shape(const Tensor& q, const Tensor& k, const AttentionForm& form);

/// q (batch, tokens, heads · head_dim), k and v (batch, tokens, kv_heads · head_dim) → (batch, tokens, heads
/// · head_dim), softmax(scale·q·kᵀ)·v, a query seeing no key after its own position. The numbers of heads are
/// read from the tensors: of a cut projection, those that are there.
///
/// Keeps q, k, v, the output and one log-sum-exp a row, never the matrix of scores. Events "attention",
/// "attention.backward" (4 and 10 flops a pair of query and key, head and element).
Variable attention(Tape& tape, Variable q, Variable k, Variable v, const AttentionForm& form,
                   const Positions& positions = {});

/// x (batch, tokens, heads · head_dim) turned by its positions. Keeps nothing but the positions. Events
/// "rotary", "rotary.backward".
Variable rotary(Tape& tape, Variable x, int64_t head_dim, const RotaryForm& form,
                const Positions& positions = {});

/// wo(attention(wq x, wk x, wv x)), with a norm on queries and keys where there is one, and rotary positions
/// after it where `rope` is given; grouped-query attention where wk and wv have fewer rows than wq.
class Attention final : public Layer {
  public:
    /// The linear layers, and the norms of queries and keys, or null both.
    struct Parts {
        Linear *wq, *wk, *wv, *wo;
        RmsNorm *q_norm = nullptr, *k_norm = nullptr;
    };
    /// `positions` outlives the module.
    Attention(std::string name, Parts parts, AttentionForm form, std::optional<RotaryForm> rope,
              const Positions* positions);

    const AttentionForm& form() const { return form_; }
    const Positions& positions() const { return *positions_; }

    /// Positions as eager_rotary(); see use_ops().
    bool eager = false;

    /// What stands between the projections and wo; empty: attention(). Context parallelism puts its own
    /// here. It releases none of q, k, v.
    std::function<Variable(Tape&, Variable q, Variable k, Variable v)> core;

  protected:
    Variable compute(Tape& tape, Variable x) override;

  private:
    Parts parts_;
    AttentionForm form_;
    std::optional<RotaryForm> rope_;
    const Positions* positions_;
};

}  // namespace meshscope::nn
