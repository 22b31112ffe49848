#pragma once

#include "core/tensor/kernels_reference.h"

namespace meshscope::tensor {

/// The kernels of a CPU device: matrix products through matrix_product(), element by element work in float32
/// loops that compilers vectorise. What is not overridden here is moved memory, where the reference is as
/// fast as it gets.
class CpuKernels final : public ReferenceKernels {
  public:
    void axpy(const Tensor& y, float a, const Tensor& x) const override;
    void linear_forward(const Tensor& y, const Tensor& x, const Tensor& weight,
                        const Tensor& bias) const override;
    void linear_input_grad(const Tensor& dx, const Tensor& dy, const Tensor& weight) const override;
    void linear_weight_grad(const Tensor& dw, const Tensor& dy, const Tensor& x,
                            bool accumulate) const override;
    void linear_bias_grad(const Tensor& db, const Tensor& dy, bool accumulate) const override;
    void gelu_tanh_forward(const Tensor& y, const Tensor& x) const override;
    void gelu_tanh_backward(const Tensor& dx, const Tensor& dy, const Tensor& x) const override;
    void mse_backward(const Tensor& dprediction, const Tensor& dloss, const Tensor& prediction,
                      const Tensor& target) const override;
    void sgd_step(const Tensor& value, const Tensor& grad, const Tensor& buffer,
                  const SgdStep& step) const override;
    void adam_step(const Tensor& value, const Tensor& grad, const Tensor& m, const Tensor& v,
                   const AdamStep& step) const override;
};

}  // namespace meshscope::tensor
