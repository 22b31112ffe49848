#pragma once

#include "core/tensor/kernels_reference.h"
#include "core/tensor/vector_loops.h"

namespace meshscope::tensor {

/// The kernels of a CPU device: matrix products through core/tensor/blas.h, everything else through the
/// vector loops of this machine, in float32. What is not overridden here runs as the reference has it: moved
/// memory, where that is as fast as it gets, and gelu by erf, one element at a time in double.
class CpuKernels : public ReferenceKernels {
  public:
    /// `with` is the table of loops to use; tests pass the others. It must outlive the kernels.
    explicit CpuKernels(const VectorLoops& with = loops()) : loops_(&with) {}

    void cast(const Tensor& out, const Tensor& in) const override;
    void scale(const Tensor& in_out, float factor) const override;
    void axpy(const Tensor& y, float a, const Tensor& x) const override;
    void add(const Tensor& out, const Tensor& a, const Tensor& b) const override;
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
                               const Tensor& targets, double divisor) const override;
    void cross_entropy_backward(const Tensor& dlogits, const Tensor& dloss, const Tensor& logits,
                                const Tensor& lse, const Tensor& targets, double divisor) const override;
    void row_sum_exp(const Tensor& sums, const Tensor& logits, const Tensor& largest) const override;
    void cross_entropy_part_backward(const Tensor& dlogits, const Tensor& dloss, const Tensor& logits,
                                     const Tensor& lse, const Tensor& targets, int64_t first,
                                     double divisor) const override;
    void mse_forward(const Tensor& loss, const Tensor& prediction, const Tensor& target) const override;
    void mse_backward(const Tensor& dprediction, const Tensor& dloss, const Tensor& prediction,
                      const Tensor& target) const override;
    double sum_of_squares(const Tensor& in) const override;
    void sgd_step(const Tensor& value, const Tensor& grad, const Tensor& buffer,
                  const SgdStep& step) const override;
    void adam_step(const Tensor& value, const Tensor& grad, const Tensor& m, const Tensor& v,
                   const AdamStep& step) const override;

  private:
    /// The elements of a float32 tensor.
    static float* numbers(const Tensor& tensor) { return tensor.data<float>().data(); }

    const VectorLoops* loops_;
};

}  // namespace meshscope::tensor
