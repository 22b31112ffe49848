#pragma once

#include "core/tensor/kernels.h"

namespace meshscope::tensor {

/// The kernels of a dry device: each checks that its tensors are there and of matching counts, whatever their
/// dtypes, as the real ones do, and computes nothing. What a kernel would tell the host is 0.
class DryKernels final : public Kernels {
  public:
    void zero(const Tensor& out) const override;
    void fill(const Tensor& out, float value) const override;
    void copy(const Tensor& out, const Tensor& in) const override;
    void cast(const Tensor& out, const Tensor& in) const override;
    void upload(const Tensor& out, std::span<const float> numbers) const override;
    void download(std::span<float> numbers, const Tensor& in) const override;
    void scale(const Tensor& in_out, float factor) const override;
    void axpy(const Tensor& y, float a, const Tensor& x) const override;
    void add(const Tensor& out, const Tensor& a, const Tensor& b) const override;
    void add_rows(const Tensor& out, const Tensor& a, const Tensor& row) const override;
    void multiply(const Tensor& out, const Tensor& a, const Tensor& b) const override;
    void linear_forward(const Tensor& y, const Tensor& x, const Tensor& weight,
                        const Tensor& bias) const override;
    void linear_input_grad(const Tensor& dx, const Tensor& dy, const Tensor& weight) const override;
    void linear_weight_grad(const Tensor& dw, const Tensor& dy, const Tensor& x,
                            bool accumulate) const override;
    void linear_bias_grad(const Tensor& db, const Tensor& dy, bool accumulate) const override;
    void relu_forward(const Tensor& y, const Tensor& x) const override;
    void relu_backward(const Tensor& dx, const Tensor& dy, const Tensor& y) const override;
    void gelu_tanh_forward(const Tensor& y, const Tensor& x) const override;
    void gelu_tanh_backward(const Tensor& dx, const Tensor& dy, const Tensor& x) const override;
    void silu_mul_forward(const Tensor& y, const Tensor& gate, const Tensor& up) const override;
    void silu_mul_backward(const Tensor& dgate, const Tensor& dup, const Tensor& dy, const Tensor& gate,
                           const Tensor& up) const override;
    void embedding_forward(const Tensor& y, const Tensor& table, const Tensor& indices) const override;
    void embedding_backward(const Tensor& dtable, const Tensor& dy, const Tensor& indices,
                            bool accumulate) const override;
    void layer_norm_forward(const Tensor& y, const Tensor& mean, const Tensor& rstd, const Tensor& x,
                            const Tensor& weight, const Tensor& bias, double eps) const override;
    void layer_norm_input_grad(const Tensor& dx, const Tensor& dy, const Tensor& x, const Tensor& mean,
                               const Tensor& rstd, const Tensor& weight) const override;
    void layer_norm_weight_grad(const Tensor& dw, const Tensor& db, const Tensor& dy, const Tensor& x,
                                const Tensor& mean, const Tensor& rstd, bool accumulate) const override;
    void rms_norm_forward(const Tensor& y, const Tensor& rstd, const Tensor& x, const Tensor& weight,
                          double eps) const override;
    void rms_norm_input_grad(const Tensor& dx, const Tensor& dy, const Tensor& x, const Tensor& rstd,
                             const Tensor& weight) const override;
    void rms_norm_weight_grad(const Tensor& dw, const Tensor& dy, const Tensor& x, const Tensor& rstd,
                              bool accumulate) const override;
    void batch_norm_stats(const Tensor& statistics, const Tensor& x, double eps) const override;
    int64_t batch_norm_gather_stats(const Tensor& mean, const Tensor& invstd, const Tensor& running_mean,
                                    const Tensor& running_var, const Tensor& statistics, double momentum,
                                    double eps) const override;
    void batch_norm_elemt(const Tensor& y, const Tensor& x, const Tensor& mean, const Tensor& invstd,
                          const Tensor& weight, const Tensor& bias) const override;
    void batch_norm_backward_reduce(const Tensor& sums, const Tensor& dw, const Tensor& db, const Tensor& dy,
                                    const Tensor& x, const Tensor& mean, const Tensor& invstd) const override;
    void batch_norm_backward_elemt(const Tensor& dx, const Tensor& dy, const Tensor& x, const Tensor& mean,
                                   const Tensor& invstd, const Tensor& weight, const Tensor& sums,
                                   int64_t rows) const override;
    void rotary(const Tensor& out, const Tensor& in, const RotaryShape& shape, bool inverse) const override;
    void attention_forward(const Tensor& o, const Tensor& lse, const Tensor& q, const Tensor& k,
                           const Tensor& v, const AttentionShape& shape) const override;
    void attention_merge(const Tensor& o, const Tensor& lse, const Tensor& block_o, const Tensor& block_lse,
                         const AttentionShape& shape) const override;
    void attention_backward(const Tensor& dq, const Tensor& dk, const Tensor& dv, const Tensor& dout,
                            const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& o,
                            const Tensor& lse, const AttentionShape& shape) const override;
    void cross_entropy_forward(const Tensor& loss, const Tensor& lse, const Tensor& logits,
                               const Tensor& targets) const override;
    void cross_entropy_backward(const Tensor& dlogits, const Tensor& dloss, const Tensor& logits,
                                const Tensor& lse, const Tensor& targets) const override;
    void embedding_part_forward(const Tensor& y, const Tensor& table, const Tensor& indices,
                                int64_t first) const override;
    void embedding_part_backward(const Tensor& dtable, const Tensor& dy, const Tensor& indices, int64_t first,
                                 bool accumulate) const override;
    void row_max(const Tensor& largest, const Tensor& logits) const override;
    void row_sum_exp(const Tensor& sums, const Tensor& logits, const Tensor& largest) const override;
    void pick_targets(const Tensor& picked, const Tensor& logits, const Tensor& targets,
                      int64_t first) const override;
    void cross_entropy_of_parts(const Tensor& loss, const Tensor& lse, const Tensor& largest,
                                const Tensor& sums, const Tensor& picked) const override;
    void cross_entropy_part_backward(const Tensor& dlogits, const Tensor& dloss, const Tensor& logits,
                                     const Tensor& lse, const Tensor& targets, int64_t first) const override;
    void mse_forward(const Tensor& loss, const Tensor& prediction, const Tensor& target) const override;
    void mse_backward(const Tensor& dprediction, const Tensor& dloss, const Tensor& prediction,
                      const Tensor& target) const override;
    double sum_of_squares(const Tensor& in) const override;
    void sgd_step(const Tensor& value, const Tensor& grad, const Tensor& buffer,
                  const SgdStep& step) const override;
    void adam_step(const Tensor& value, const Tensor& grad, const Tensor& m, const Tensor& v,
                   const AdamStep& step) const override;
};

}  // namespace meshscope::tensor
