#pragma once

#include "core/nn/layers/attention.h"
#include "core/nn/tape.h"

namespace meshscope::nn {

/// Layers as eager PyTorch 2.15 computes them, for their memory and time alone (see Aten): what each keeps
/// for backward and what it holds on the way are byte for byte those of the PyTorch code named below. Where a
/// schedule splits backward in two, all of a norm's is in the first half.
/// tests/golden/eager has what PyTorch itself holds.

/// RMSNorm of several kernels, transformers' LlamaRMSNorm: float32 copy of x, mean of its squares,
/// x·rsqrt(mean + eps) in float32, that in x's type, times the weight. Keeps the float32 copy, one number a
/// row, and what the weight is multiplied with; x itself only where it is float32. Zero-centered
/// (Gemma3RMSNorm): times 1 + weight in float32, and cast afterwards.
Variable eager_rms_norm(Tape& tape, Variable x, Parameter& weight, bool zero_centered);

/// F.silu. Keeps its input.
Variable eager_silu(Tape& tape, Variable x);

/// Rotary positions: pairs of neighbours as complex numbers in float32 (torchtitan's apply_rotary_emb),
/// halves by rotate_half in x's type (transformers' apply_rotary_pos_emb). x (batch, tokens, heads ·
/// head_dim). Keeps nothing; the tables of angles, which the model has, are not counted.
Variable eager_rotary(Tape& tape, Variable x, int64_t head_dim, bool halves);

/// F.cross_entropy of the logits in float32, as torchtitan's and transformers' losses have it: log_softmax
/// and nll_loss. Keeps log_softmax's output, float32, and not the logits. Backward holds two more of its
/// size.
Variable eager_cross_entropy(Tape& tape, Variable logits, const Tensor& targets);

}  // namespace meshscope::nn
