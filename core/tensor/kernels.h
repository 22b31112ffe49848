#pragma once

#include <cstdint>
#include <span>

#include "core/tensor/attention.h"
#include "core/tensor/tensor.h"

namespace meshscope::tensor {

/// One step of torch.optim.SGD (dampening 0, no Nesterov).
struct SgdStep {
    double lr = 0.1;
    double momentum = 0.0;
    double weight_decay = 0.0;  ///< added to the gradient as weight_decay · value
    bool first = false;         ///< the first step of this parameter: the buffer becomes the gradient
};

/// One step of torch.optim.Adam (decoupled = false: the decay is added to the gradient) or AdamW (decoupled =
/// true: the value shrinks by lr · weight_decay first). `step` counts from 1.
struct AdamStep {
    double lr = 1e-3;
    double beta1 = 0.9;
    double beta2 = 0.999;
    double eps = 1e-8;
    double weight_decay = 0.0;
    bool decoupled = false;
    int64_t step = 1;
};

/// One parameter of Kernels::adam_steps: what adam_step takes.
struct AdamTensors {
    const Tensor* value = nullptr;
    const Tensor* grad = nullptr;
    const Tensor* m = nullptr;
    const Tensor* v = nullptr;
};

/// Every operation of the engine on one kind of device. Letters: B rows (batch), I inputs, O outputs, n
/// elements; N rows (tokens), D elements a row, V rows of a table.
///
/// Tensors are contiguous, made beforehand, and of matching counts: a mismatch throws InvalidArgument
/// ("kernel.shape": kernel, shape, wanted). Numbers are float32 unless said otherwise. The kernels of layers
/// and losses also take bfloat16, all operands of a call alike, or InvalidArgument ("tensor.wrong_dtype") is
/// thrown: they compute in float32 and round each result once (where PyTorch rounds between, so do they).
/// Even then a norm's mean and rstd, attention's and cross-entropy's lse, and mse's target and loss are
/// float32. Optimizers, upload and download take float32 only.
///
/// Outputs do not overlap inputs unless the comment says "may be". Results are a function of the inputs
/// alone: the same bits again on the same machine. 0 elements are allowed everywhere. Thread-safe: kernels
/// keep no state. A kernel added here needs its check in kernels_dry.cpp too.
class Kernels {
  public:
    virtual ~Kernels() = default;

    /// Any dtype: all bits zero.
    virtual void zero(const Tensor& out) const = 0;
    virtual void fill(const Tensor& out, float value) const = 0;
    /// Any dtype, the same on both sides.
    virtual void copy(const Tensor& out, const Tensor& in) const = 0;
    /// Between float32, bfloat16 and float16 (round to nearest, ties to even), or a copy where the dtypes are
    /// the same.
    virtual void cast(const Tensor& out, const Tensor& in) const = 0;
    /// From and to the host's memory; counts must match.
    virtual void upload(const Tensor& out, std::span<const float> numbers) const = 0;
    virtual void download(std::span<float> numbers, const Tensor& in) const = 0;

    /// x ← factor · x; of float16 too (computed in float32, rounded once).
    virtual void scale(const Tensor& in_out, float factor) const = 0;
    /// y ← y + a · x. y may be x.
    virtual void axpy(const Tensor& y, float a, const Tensor& x) const = 0;
    /// out = a + b; of float16 too, as scale. out may be a or b.
    virtual void add(const Tensor& out, const Tensor& a, const Tensor& b) const = 0;
    /// out (B, D) = each row of a (B, D) + row (D). out may be a.
    virtual void add_rows(const Tensor& out, const Tensor& a, const Tensor& row) const = 0;
    /// out = a · b, element by element. out may be a or b.
    virtual void multiply(const Tensor& out, const Tensor& a, const Tensor& b) const = 0;

    /// y (B, O) = x (B, I) · Wᵀ + b, with W (O, I) and b (O) or undefined. 2·B·I·O flops. The order of the
    /// sums over I is the implementation's own; it does not depend on anything but the shapes.
    virtual void linear_forward(const Tensor& y, const Tensor& x, const Tensor& weight,
                                const Tensor& bias) const = 0;
    /// dx (B, I) = dy (B, O) · W.
    virtual void linear_input_grad(const Tensor& dx, const Tensor& dy, const Tensor& weight) const = 0;
    /// dW (O, I) = dyᵀ · x, or dW += dyᵀ · x when `accumulate`.
    virtual void linear_weight_grad(const Tensor& dw, const Tensor& dy, const Tensor& x,
                                    bool accumulate) const = 0;
    /// db (O) = the sum of dy's rows, first row first; or db += it.
    virtual void linear_bias_grad(const Tensor& db, const Tensor& dy, bool accumulate) const = 0;

    /// y = max(x, 0); a NaN stays. y may be x.
    virtual void relu_forward(const Tensor& y, const Tensor& x) const = 0;
    /// dx = dy where y > 0, else 0. dx may be dy.
    virtual void relu_backward(const Tensor& dx, const Tensor& dy, const Tensor& y) const = 0;
    /// y = x/2 · (1 + tanh(√(2/π) · (x + 0.044715 x³))): torch's gelu(approximate="tanh").
    virtual void gelu_tanh_forward(const Tensor& y, const Tensor& x) const = 0;
    /// dx = dy · y'(x). dx may be dy.
    virtual void gelu_tanh_backward(const Tensor& dx, const Tensor& dy, const Tensor& x) const = 0;

    /// y = silu(gate) · up, where silu(g) = g / (1 + e^-g). y may be gate or up. torch.nn.functional.silu.
    virtual void silu_mul_forward(const Tensor& y, const Tensor& gate, const Tensor& up) const = 0;
    /// dgate = dy · up · silu'(gate); dup = dy · silu(gate). Either may be dy, gate or up.
    virtual void silu_mul_backward(const Tensor& dgate, const Tensor& dup, const Tensor& dy,
                                   const Tensor& gate, const Tensor& up) const = 0;

    /// y (N, D) = the rows of table (V, D) that indices (N, int64) name. An index outside [0, V) throws
    /// InvalidArgument ("kernel.index": kernel, index, rows).
    virtual void embedding_forward(const Tensor& y, const Tensor& table, const Tensor& indices) const = 0;
    /// dtable (V, D) = 0, or as it was when `accumulate`, plus dy's row n at row indices[n], n = 0 first.
    /// Throws as embedding_forward.
    virtual void embedding_backward(const Tensor& dtable, const Tensor& dy, const Tensor& indices,
                                    bool accumulate) const = 0;

    /// Of each row of x (N, D): mean, rstd = 1/√(variance + eps) (variance: mean of squared distances, both
    /// (N), kept for the backward pass), y = (x - mean) · rstd · weight + bias. weight (D); bias (D) or
    /// undefined. About 8·N·D flops. torch.nn.LayerNorm.
    virtual void layer_norm_forward(const Tensor& y, const Tensor& mean, const Tensor& rstd, const Tensor& x,
                                    const Tensor& weight, const Tensor& bias, double eps) const = 0;
    /// With h = (x - mean) · rstd and g = dy · weight: dx = rstd · (g - mean(g) - h · mean(g · h)), means
    /// over the row. dx may be dy. About 12·N·D flops.
    virtual void layer_norm_input_grad(const Tensor& dx, const Tensor& dy, const Tensor& x,
                                       const Tensor& mean, const Tensor& rstd,
                                       const Tensor& weight) const = 0;
    /// dw (D) = Σ over rows of dy · h, db (D; or undefined) = Σ dy, first row first; or added onto them.
    virtual void layer_norm_weight_grad(const Tensor& dw, const Tensor& db, const Tensor& dy, const Tensor& x,
                                        const Tensor& mean, const Tensor& rstd, bool accumulate) const = 0;
    /// Of each row of x (N, D): rstd = 1/√(mean(x²) + eps), y = x · rstd · weight. torch.nn.RMSNorm.
    virtual void rms_norm_forward(const Tensor& y, const Tensor& rstd, const Tensor& x, const Tensor& weight,
                                  double eps) const = 0;
    /// With h = x · rstd and g = dy · weight: dx = rstd · (g - h · mean(g · h)). dx may be dy.
    virtual void rms_norm_input_grad(const Tensor& dx, const Tensor& dy, const Tensor& x, const Tensor& rstd,
                                     const Tensor& weight) const = 0;
    /// dw (D) = Σ over rows of dy · h, first row first; or added onto it.
    virtual void rms_norm_weight_grad(const Tensor& dw, const Tensor& dy, const Tensor& x, const Tensor& rstd,
                                      bool accumulate) const = 0;

    // Batch norm over the rows of x (N, D), so that its statistics may be shared between ranks: the pieces of
    // torch.nn.SyncBatchNorm. float32 only. A part's statistics (2·D + 1) are the mean of each column, then
    // 1/√(variance + eps) of each (variance: mean of squared distances), then N.

    /// The statistics of x; N at least 1. About 3·N·D flops. torch.batch_norm_stats.
    virtual void batch_norm_stats(const Tensor& statistics, const Tensor& x, double eps) const = 0;
    /// Brings the statistics (P, 2·D + 1) of P parts together, each weighing its rows: mean, invstd (D) of
    /// all rows, whose number it returns; running_mean ← (1 - momentum) · running_mean + momentum · mean,
    /// running_var likewise with the variance over rows - 1. torch.batch_norm_gather_stats_with_counts.
    virtual int64_t batch_norm_gather_stats(const Tensor& mean, const Tensor& invstd,
                                            const Tensor& running_mean, const Tensor& running_var,
                                            const Tensor& statistics, double momentum, double eps) const = 0;
    /// y = (x - mean) · invstd · weight + bias, all (D). About 4·N·D flops. torch.batch_norm_elemt.
    virtual void batch_norm_elemt(const Tensor& y, const Tensor& x, const Tensor& mean, const Tensor& invstd,
                                  const Tensor& weight, const Tensor& bias) const = 0;
    /// sums (2·D) = Σ dy of each column, then Σ dy · (x - mean); dw (D) = the latter · invstd, db (D) = Σ dy.
    /// Rows first to last. About 4·N·D flops. torch.batch_norm_backward_reduce.
    virtual void batch_norm_backward_reduce(const Tensor& sums, const Tensor& dw, const Tensor& db,
                                            const Tensor& dy, const Tensor& x, const Tensor& mean,
                                            const Tensor& invstd) const = 0;
    /// With `sums` over all `rows` of all parts: dx = weight · invstd · (dy - Σdy/rows - (x - mean) · invstd²
    /// · Σdy(x - mean)/rows). dx may be dy. About 6·N·D flops. torch.batch_norm_backward_elemt.
    virtual void batch_norm_backward_elemt(const Tensor& dx, const Tensor& dy, const Tensor& x,
                                           const Tensor& mean, const Tensor& invstd, const Tensor& weight,
                                           const Tensor& sums, int64_t rows) const = 0;

    /// Turns each pair (a, b) to (a·cos - b·sin, a·sin + b·cos), or back (which is also the backward pass)
    /// when `inverse`. 6 flops a pair. Angles are computed in double. out may be in.
    virtual void rotary(const Tensor& out, const Tensor& in, const RotaryShape& shape,
                        bool inverse) const = 0;

    /// o = softmax(scale · q · kᵀ) · v for each batch row and head; lse (batch, heads, q_tokens) is the
    /// log-sum-exp of each row of scores, which the backward pass and ring attention need. A row that sees no
    /// key has o = 0 and lse = -∞. 4·batch·heads·q_tokens·k_tokens·head_dim flops (causal: about half).
    /// Keys are taken in blocks with a running maximum and sum (FlashAttention-2, arXiv 2307.08691): scratch
    /// does not grow with the tokens.
    virtual void attention_forward(const Tensor& o, const Tensor& lse, const Tensor& q, const Tensor& k,
                                   const Tensor& v, const AttentionShape& shape) const = 0;
    /// Ring attention's online merge: (o, lse) are attention over some keys, (block_o, block_lse) the same
    /// queries' over other keys; afterwards (o, lse) are attention over both: lse' = log(e^lse +
    /// e^block_lse), o' = e^(lse - lse') · o + e^(block_lse - lse') · block_o. A row of which one side saw no
    /// key (lse -∞) is the other side's. float32 only; of `shape` batch, q_tokens, heads and head_dim count.
    /// 3 flops an element of o. torch/distributed/tensor/experimental/_context_parallel/_attention.py:
    /// _SDPAMerger, which computes in float32 too.
    virtual void attention_merge(const Tensor& o, const Tensor& lse, const Tensor& block_o,
                                 const Tensor& block_lse, const AttentionShape& shape) const = 0;
    /// With p = exp(scale · q · kᵀ - lse) and ds = p · (dout · vᵀ - Σ dout · o): dv = pᵀ · dout,
    /// dq = scale · ds · k, dk = scale · dsᵀ · q. `o` and `lse` may come from more keys than `k` and `v`
    /// hold: then dq is these keys' share. Sums over the query heads of one key/value head: first head
    /// first. 2.5 times the flops of forward; p is computed again, block by block.
    virtual void attention_backward(const Tensor& dq, const Tensor& dk, const Tensor& dv, const Tensor& dout,
                                    const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& o,
                                    const Tensor& lse, const AttentionShape& shape) const = 0;

    /// loss (1) = mean over rows of lse - logits[target], lse (N) = log Σ exp of each row of logits (N, V),
    /// rows summed in double, first first. targets (N, int64): one outside [0, V) throws InvalidArgument
    /// ("kernel.index": kernel, index, rows). The mean of 0 rows is NaN. torch.nn.functional.cross_entropy.
    virtual void cross_entropy_forward(const Tensor& loss, const Tensor& lse, const Tensor& logits,
                                       const Tensor& targets) const = 0;
    /// dlogits = (exp(logits - lse) - onehot(target)) · dloss / N. dlogits may be logits.
    virtual void cross_entropy_backward(const Tensor& dlogits, const Tensor& dloss, const Tensor& logits,
                                        const Tensor& lse, const Tensor& targets) const = 0;

    // For tables and logits cut by vocabulary over ranks: a part holds the classes [first, first + V).

    /// As embedding_forward with a part of the table; a row whose index lies elsewhere becomes zero, so that
    /// the parts' results add up to the whole's.
    virtual void embedding_part_forward(const Tensor& y, const Tensor& table, const Tensor& indices,
                                        int64_t first) const = 0;
    virtual void embedding_part_backward(const Tensor& dtable, const Tensor& dy, const Tensor& indices,
                                         int64_t first, bool accumulate) const = 0;
    /// largest (N) = the maximum of each row of logits (N, V); -∞ where V is 0.
    virtual void row_max(const Tensor& largest, const Tensor& logits) const = 0;
    /// sums (N) = Σ exp(logits - largest) of each row, in an order that depends on V only.
    virtual void row_sum_exp(const Tensor& sums, const Tensor& logits, const Tensor& largest) const = 0;
    /// picked (N) = each row's logit of its target (N, int64); 0 where that lies in another part.
    virtual void pick_targets(const Tensor& picked, const Tensor& logits, const Tensor& targets,
                              int64_t first) const = 0;
    /// What the parts' exchanged figures give: lse (N) = largest + log sums; loss (1) = the mean of
    /// lse - picked, rows summed in double, first first.
    virtual void cross_entropy_of_parts(const Tensor& loss, const Tensor& lse, const Tensor& largest,
                                        const Tensor& sums, const Tensor& picked) const = 0;
    /// As cross_entropy_backward with a part of the logits. dlogits may be logits.
    virtual void cross_entropy_part_backward(const Tensor& dlogits, const Tensor& dloss, const Tensor& logits,
                                             const Tensor& lse, const Tensor& targets,
                                             int64_t first) const = 0;

    /// loss (1) = mean over all n of (prediction - target)², summed in double, in an order that depends
    /// on n only.
    virtual void mse_forward(const Tensor& loss, const Tensor& prediction, const Tensor& target) const = 0;
    /// dprediction = dloss · 2/n · (prediction - target).
    virtual void mse_backward(const Tensor& dprediction, const Tensor& dloss, const Tensor& prediction,
                              const Tensor& target) const = 0;

    /// Σ x², in double, in an order that depends on n only.
    virtual double sum_of_squares(const Tensor& in) const = 0;

    /// With g = grad + weight_decay·value: buf ← g (first) or momentum·buf + g; value ← value - lr·buf.
    /// `buffer` is undefined when momentum is 0. torch/optim/sgd.py.
    virtual void sgd_step(const Tensor& value, const Tensor& grad, const Tensor& buffer,
                          const SgdStep& step) const = 0;
    /// m ← m + (1-β1)(g - m); v ← β2·v + (1-β2)·g²; value ← value - lr/(1-β1ᵗ) · m / (√v/√(1-β2ᵗ) + eps).
    /// torch/optim/adam.py, adamw.py.
    virtual void adam_step(const Tensor& value, const Tensor& grad, const Tensor& m, const Tensor& v,
                           const AdamStep& step) const = 0;
    /// adam_step of each parameter, which have no memory in common, with the same bits; a device for which
    /// every call is dear does all of them at once (torch.optim.Adam with fused=True).
    virtual void adam_steps(std::span<const AdamTensors> parameters, const AdamStep& step) const {
        for (const auto& [value, grad, m, v] : parameters) adam_step(*value, *grad, *m, *v, step);
    }
};

}  // namespace meshscope::tensor
