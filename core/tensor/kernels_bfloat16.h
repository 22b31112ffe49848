#pragma once

#include "core/tensor/kernels_bfloat16_parts.h"

namespace meshscope::tensor {

/// `Base`'s kernels, of float32, made to take bfloat16 as well: operands are widened to float32 (exactly),
/// Base computes, and what it wrote is rounded to bfloat16 once, ties to even. So sums are float32 sums, as
/// PyTorch's are on a CPU. Where PyTorch makes one of our kernels of two, and rounds between, so is done here
/// (silu_mul, gradients added to others, cross-entropy). A call of float32 alone goes straight to Base.
///
/// The float32 copies are as large as the call's operands, live as long as the call, and are not reported to
/// any sink.
template <class Base>
class WithBfloat16 final : public WithBfloat16Parts<Base> {
  public:
    /// Copies are made on `device`, which must outlive the kernels.
    explicit WithBfloat16(Device& device) : WithBfloat16Parts<Base>(device), device_(&device) {}

    void fill(const Tensor& out, float value) const override;
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
    void rotary(const Tensor& out, const Tensor& in, const RotaryShape& shape, bool inverse) const override;
    void attention_forward(const Tensor& o, const Tensor& lse, const Tensor& q, const Tensor& k,
                           const Tensor& v, const AttentionShape& shape) const override;
    void attention_backward(const Tensor& dq, const Tensor& dk, const Tensor& dv, const Tensor& dout,
                            const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& o,
                            const Tensor& lse, const AttentionShape& shape) const override;
    void cross_entropy_forward(const Tensor& loss, const Tensor& lse, const Tensor& logits,
                               const Tensor& targets) const override;
    void cross_entropy_backward(const Tensor& dlogits, const Tensor& dloss, const Tensor& logits,
                                const Tensor& lse, const Tensor& targets) const override;
    void mse_forward(const Tensor& loss, const Tensor& prediction, const Tensor& target) const override;
    void mse_backward(const Tensor& dprediction, const Tensor& dloss, const Tensor& prediction,
                      const Tensor& target) const override;
    double sum_of_squares(const Tensor& in) const override;

  private:
    Device* device_;
};

extern template class WithBfloat16<CpuKernels>;
extern template class WithBfloat16<ReferenceKernels>;

}  // namespace meshscope::tensor
