#pragma once

#include <map>
#include <vector>

#include "core/comm/process_group.h"
#include "core/nn/layers/attention.h"
#include "core/nn/tape.h"
#include "core/parallel/context/options.h"
#include "core/parallel/context/token_cut.h"
#include "core/tensor/attention.h"

namespace meshscope::parallel {

/// Causal attention of tokens that are cut over the N ranks of a cp group: every rank keeps its own queries,
/// and the keys and values of all ranks come past them. Ring attention (arXiv 2310.01889) as PyTorch's
/// context_parallel does it (torch/distributed/tensor/experimental/_context_parallel/_attention.py:
/// _templated_ring_attention and its backward).
///
/// - forward: one buffer of concat(K, V) of this rank's tokens rotates N - 1 times; each block that is not
///   wholly masked is computed and merged into the output by log-sum-exp.
/// - backward: K and V rotate again (forward kept only its own); the gradient of a block's keys and values,
///   in float32, goes round with them in N permutes and comes home complete.
///
/// With n elements of K and V on a rank: (N - 1)·n sent forward, (N - 1)·n + N·n backward. Blocks come in
/// the order of the rotation, so sums have the same order in every run. Grouped queries and heads cut by
/// tensor parallelism are read from the tensors.
class RingAttention {
  public:
    /// `positions` (int64): those of all ranks, rank by rank. The group outlives it. Layers whose queries see
    /// `window` tokens (0: all) may be run once prepare() was told of it.
    RingAttention(comm::ProcessGroup& group, ContextMethod method, const TokenCut& cut,
                  tensor::Tensor positions);
    void prepare(int64_t window);

    /// q (batch, tokens, heads · head_dim), k and v (batch, tokens, kv_heads · head_dim) of this rank's
    /// tokens → as q. Keeps q, k, v, the output and one log-sum-exp a row. Releases nothing. Events
    /// "attention", "attention.merge" (3 flops an element), "attention.backward", "cp.pack".
    nn::Variable operator()(nn::Tape& tape, nn::Variable q, nn::Variable k, nn::Variable v,
                            const nn::AttentionForm& form) const;

  private:
    struct Saved;
    struct Block;
    Block block(int32_t i, const tensor::Tensor& buffer, const Saved& saved) const;
    void forward(nn::Tape& tape, Saved& saved) const;
    void backward(nn::Tape& tape, const Saved& saved, const tensor::Tensor& grad) const;
    tensor::Tensor packed(nn::Tape& tape, const Saved& saved) const;

    comm::ProcessGroup& group_;
    ContextMethod method_;
    tensor::Tensor positions_;
    TokenCut cut_;
    /// By window, then by key rank: pairs that this rank's queries see.
    std::map<int64_t, std::vector<int64_t>> pairs_;
};

}  // namespace meshscope::parallel
