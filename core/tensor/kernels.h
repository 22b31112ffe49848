#pragma once

#include <cstdint>
#include <span>

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

/// Every operation of the engine on one kind of device. Letters: B rows (batch), I inputs, O outputs, n
/// elements.
///
/// Tensors are contiguous float32 unless said otherwise, made beforehand, and of matching counts: a mismatch
/// throws InvalidArgument ("kernel.shape": kernel, shape, wanted). Outputs do not overlap inputs unless the
/// comment says "may be". Results are a function of the inputs alone: the same bits again on the same
/// machine. 0 elements are allowed everywhere. Thread-safe: kernels keep no state.
class Kernels {
  public:
    virtual ~Kernels() = default;

    /// Any dtype: all bits zero.
    virtual void zero(const Tensor& out) const = 0;
    virtual void fill(const Tensor& out, float value) const = 0;
    /// Any dtype, the same on both sides.
    virtual void copy(const Tensor& out, const Tensor& in) const = 0;
    /// Between float32 and bfloat16 (round to nearest, ties to even), or a copy where the dtypes are the
    /// same.
    virtual void cast(const Tensor& out, const Tensor& in) const = 0;
    /// From and to the host's memory; counts must match.
    virtual void upload(const Tensor& out, std::span<const float> numbers) const = 0;
    virtual void download(std::span<float> numbers, const Tensor& in) const = 0;

    /// x ← factor · x.
    virtual void scale(const Tensor& in_out, float factor) const = 0;
    /// y ← y + a · x. y may be x.
    virtual void axpy(const Tensor& y, float a, const Tensor& x) const = 0;
    /// out = a + b. out may be a or b.
    virtual void add(const Tensor& out, const Tensor& a, const Tensor& b) const = 0;

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

    /// loss (1) = mean over all n of (prediction - target)², summed in double, first element first.
    virtual void mse_forward(const Tensor& loss, const Tensor& prediction, const Tensor& target) const = 0;
    /// dprediction = dloss · 2/n · (prediction - target).
    virtual void mse_backward(const Tensor& dprediction, const Tensor& dloss, const Tensor& prediction,
                              const Tensor& target) const = 0;

    /// Σ x², in double, first element first.
    virtual double sum_of_squares(const Tensor& in) const = 0;

    /// With g = grad + weight_decay·value: buf ← g (first) or momentum·buf + g; value ← value - lr·buf.
    /// `buffer` is undefined when momentum is 0. torch/optim/sgd.py.
    virtual void sgd_step(const Tensor& value, const Tensor& grad, const Tensor& buffer,
                          const SgdStep& step) const = 0;
    /// m ← m + (1-β1)(g - m); v ← β2·v + (1-β2)·g²; value ← value - lr/(1-β1ᵗ) · m / (√v/√(1-β2ᵗ) + eps).
    /// torch/optim/adam.py, adamw.py.
    virtual void adam_step(const Tensor& value, const Tensor& grad, const Tensor& m, const Tensor& v,
                           const AdamStep& step) const = 0;
};

}  // namespace meshscope::tensor
