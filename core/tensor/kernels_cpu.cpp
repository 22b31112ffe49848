// Linear layers and what works element by element.
#include "core/tensor/kernels_cpu.h"

#include <algorithm>
#include <cmath>

#include "core/tensor/blas.h"
#include "core/tensor/kernel_parts.h"

namespace meshscope::tensor {

void CpuKernels::cast(const Tensor& out, const Tensor& in) const {
    if (out.dtype() == in.dtype()) return copy(out, in);
    if (cast_float16(out, in)) return;
    if (out.dtype() == DType::bfloat16)
        loops_->to_bfloat16(out.data<uint16_t>().data(), numbers(in), in.n_elements());
    else
        loops_->from_bfloat16(numbers(out), in.data<uint16_t>().data(), in.n_elements());
}

void CpuKernels::scale(const Tensor& in_out, float factor) const {
    loops_->scale(numbers(in_out), factor, in_out.n_elements());
}

void CpuKernels::axpy(const Tensor& y, float a, const Tensor& x) const {
    loops_->axpy(numbers(y), a, numbers(x), y.n_elements());
}

void CpuKernels::add(const Tensor& out, const Tensor& a, const Tensor& b) const {
    loops_->add(numbers(out), numbers(a), numbers(b), out.n_elements());
}

void CpuKernels::multiply(const Tensor& out, const Tensor& a, const Tensor& b) const {
    loops_->multiply(numbers(out), numbers(a), numbers(b), out.n_elements());
}

void CpuKernels::linear_forward(const Tensor& y, const Tensor& x, const Tensor& weight,
                                const Tensor& bias) const {
    const auto [rows, inputs, outputs] = linear_sizes(x, weight);
    float* ys = numbers(y);
    if (bias.defined()) {
        // The product is added onto the bias, as PyTorch's addmm does.
        for (int64_t r = 0; r < rows; ++r) std::copy_n(numbers(bias), outputs, ys + r * outputs);
    }
    matrix_product(false, true, rows, outputs, inputs, numbers(x), numbers(weight),
                   bias.defined() ? 1.0F : 0.0F, ys);
}

void CpuKernels::linear_input_grad(const Tensor& dx, const Tensor& dy, const Tensor& weight) const {
    const auto [rows, inputs, outputs] = linear_sizes(dx, weight);
    matrix_product(false, false, rows, inputs, outputs, numbers(dy), numbers(weight), 0.0F, numbers(dx));
}

void CpuKernels::linear_weight_grad(const Tensor& dw, const Tensor& dy, const Tensor& x,
                                    bool accumulate) const {
    const auto [rows, inputs, outputs] = linear_sizes(x, dw);
    matrix_product(true, false, outputs, inputs, rows, numbers(dy), numbers(x), accumulate ? 1.0F : 0.0F,
                   numbers(dw));
}

void CpuKernels::linear_bias_grad(const Tensor& db, const Tensor& dy, bool accumulate) const {
    const int64_t outputs = db.n_elements();
    const int64_t rows = outputs == 0 ? 0 : dy.n_elements() / outputs;
    float* dbs = numbers(db);
    const float* dys = numbers(dy);
    if (!accumulate) std::fill_n(dbs, outputs, 0.0F);
    loops_->add_rows(dbs, dys, rows, outputs);
}

void CpuKernels::relu_forward(const Tensor& y, const Tensor& x) const {
    loops_->relu_forward(numbers(y), numbers(x), x.n_elements());
}

void CpuKernels::relu_backward(const Tensor& dx, const Tensor& dy, const Tensor& y) const {
    loops_->relu_backward(numbers(dx), numbers(dy), numbers(y), y.n_elements());
}

void CpuKernels::gelu_tanh_forward(const Tensor& y, const Tensor& x) const {
    loops_->gelu_tanh_forward(numbers(y), numbers(x), x.n_elements());
}

void CpuKernels::gelu_tanh_backward(const Tensor& dx, const Tensor& dy, const Tensor& x) const {
    loops_->gelu_tanh_backward(numbers(dx), numbers(dy), numbers(x), x.n_elements());
}

void CpuKernels::silu_mul_forward(const Tensor& y, const Tensor& gate, const Tensor& up) const {
    loops_->silu_mul_forward(numbers(y), numbers(gate), numbers(up), gate.n_elements());
}

void CpuKernels::silu_mul_backward(const Tensor& dgate, const Tensor& dup, const Tensor& dy,
                                   const Tensor& gate, const Tensor& up) const {
    loops_->silu_mul_backward(numbers(dgate), numbers(dup), numbers(dy), numbers(gate), numbers(up),
                              gate.n_elements());
}

void CpuKernels::mse_forward(const Tensor& loss, const Tensor& prediction, const Tensor& target) const {
    const int64_t n = prediction.n_elements();
    const double sum = loops_->squared_distance(numbers(prediction), numbers(target), n);
    numbers(loss)[0] = static_cast<float>(sum / static_cast<double>(n));
}

void CpuKernels::mse_backward(const Tensor& dprediction, const Tensor& dloss, const Tensor& prediction,
                              const Tensor& target) const {
    const int64_t n = prediction.n_elements();
    const float factor = 2.0F / static_cast<float>(n) * numbers(dloss)[0];
    loops_->scaled_difference(numbers(dprediction), factor, numbers(prediction), numbers(target), n);
}

double CpuKernels::sum_of_squares(const Tensor& in) const {
    return loops_->sum_of_squares(numbers(in), in.n_elements());
}

void CpuKernels::sgd_step(const Tensor& value, const Tensor& grad, const Tensor& buffer,
                          const SgdStep& step) const {
    const int64_t n = value.n_elements();
    const auto lr = static_cast<float>(step.lr);
    const auto momentum = static_cast<float>(step.momentum);
    const auto decay = static_cast<float>(step.weight_decay);
    float* values = numbers(value);
    const float* grads = numbers(grad);
    if (step.momentum == 0.0) {
        for (int64_t i = 0; i < n; ++i) values[i] -= lr * (grads[i] + decay * values[i]);
        return;
    }
    float* bufs = numbers(buffer);
    for (int64_t i = 0; i < n; ++i) {
        const float g = grads[i] + decay * values[i];
        bufs[i] = step.first ? g : momentum * bufs[i] + g;
        values[i] -= lr * bufs[i];
    }
}

void CpuKernels::adam_step(const Tensor& value, const Tensor& grad, const Tensor& m, const Tensor& v,
                           const AdamStep& step) const {
    // The scalars in double and the elements in float32, in the order of torch/optim/adam.py's single-tensor
    // path.
    const double correction1 = 1.0 - std::pow(step.beta1, static_cast<double>(step.step));
    const double correction2 = 1.0 - std::pow(step.beta2, static_cast<double>(step.step));
    AdamScalars scalars;
    scalars.decay = static_cast<float>(step.decoupled ? 0.0 : step.weight_decay);
    scalars.shrink = static_cast<float>(step.decoupled ? 1.0 - step.lr * step.weight_decay : 1.0);
    scalars.share1 = static_cast<float>(1.0 - step.beta1);
    scalars.beta2 = static_cast<float>(step.beta2);
    scalars.share2 = static_cast<float>(1.0 - step.beta2);
    scalars.step_size = static_cast<float>(step.lr / correction1);
    scalars.root_factor = static_cast<float>(1.0 / std::sqrt(correction2));
    scalars.eps = static_cast<float>(step.eps);
    loops_->adam(numbers(value), numbers(grad), numbers(m), numbers(v), scalars, value.n_elements());
}

}  // namespace meshscope::tensor
