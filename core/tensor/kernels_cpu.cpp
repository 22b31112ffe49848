#include "core/tensor/kernels_cpu.h"

#include <algorithm>
#include <cmath>

#include "core/tensor/blas.h"
#include "core/tensor/kernels_check.h"

namespace meshscope::tensor {
namespace {

constexpr float kGeluScale = 0.7978845608028654F;  // √(2/π)
constexpr float kGeluCubic = 0.044715F;

const float* numbers(const Tensor& tensor) {
    return tensor.data<float>().data();
}
float* numbers_out(const Tensor& tensor) {
    return tensor.data<float>().data();
}

}  // namespace

void CpuKernels::axpy(const Tensor& y, float a, const Tensor& x) const {
    expect_count("axpy", y, x.n_elements());
    const int64_t n = y.n_elements();
    float* ys = numbers_out(y);
    const float* xs = numbers(x);
    for (int64_t i = 0; i < n; ++i) ys[i] += a * xs[i];
}

void CpuKernels::linear_forward(const Tensor& y, const Tensor& x, const Tensor& weight,
                                const Tensor& bias) const {
    const auto [rows, inputs, outputs] = linear_sizes("linear", x, y, weight);
    float* ys = numbers_out(y);
    if (bias.defined()) {
        // The product is added onto the bias, as PyTorch's addmm does.
        expect_count("linear", bias, outputs);
        for (int64_t r = 0; r < rows; ++r) std::copy_n(numbers(bias), outputs, ys + r * outputs);
    }
    matrix_product(false, true, rows, outputs, inputs, numbers(x), numbers(weight),
                   bias.defined() ? 1.0F : 0.0F, ys);
}

void CpuKernels::linear_input_grad(const Tensor& dx, const Tensor& dy, const Tensor& weight) const {
    const auto [rows, inputs, outputs] = linear_sizes("linear.input_grad", dx, dy, weight);
    matrix_product(false, false, rows, inputs, outputs, numbers(dy), numbers(weight), 0.0F, numbers_out(dx));
}

void CpuKernels::linear_weight_grad(const Tensor& dw, const Tensor& dy, const Tensor& x,
                                    bool accumulate) const {
    const auto [rows, inputs, outputs] = linear_sizes("linear.weight_grad", x, dy, dw);
    matrix_product(true, false, outputs, inputs, rows, numbers(dy), numbers(x), accumulate ? 1.0F : 0.0F,
                   numbers_out(dw));
}

void CpuKernels::linear_bias_grad(const Tensor& db, const Tensor& dy, bool accumulate) const {
    const int64_t outputs = db.n_elements();
    const int64_t rows = outputs == 0 ? 0 : dy.n_elements() / outputs;
    expect_count("linear.bias_grad", dy, rows * outputs);
    float* dbs = numbers_out(db);
    const float* dys = numbers(dy);
    if (!accumulate) std::fill_n(dbs, outputs, 0.0F);
    for (int64_t r = 0; r < rows; ++r)
        for (int64_t o = 0; o < outputs; ++o) dbs[o] += dys[r * outputs + o];
}

void CpuKernels::gelu_tanh_forward(const Tensor& y, const Tensor& x) const {
    expect_count("gelu_tanh", y, x.n_elements());
    const int64_t n = x.n_elements();
    const float* xs = numbers(x);
    float* ys = numbers_out(y);
    for (int64_t i = 0; i < n; ++i) {
        const float u = xs[i];
        ys[i] = 0.5F * u * (1.0F + std::tanh(kGeluScale * (u + kGeluCubic * u * u * u)));
    }
}

void CpuKernels::gelu_tanh_backward(const Tensor& dx, const Tensor& dy, const Tensor& x) const {
    expect_count("gelu_tanh.backward", dx, x.n_elements());
    expect_count("gelu_tanh.backward", dy, x.n_elements());
    const int64_t n = x.n_elements();
    const float* xs = numbers(x);
    const float* dys = numbers(dy);
    float* dxs = numbers_out(dx);
    for (int64_t i = 0; i < n; ++i) {
        const float u = xs[i];
        const float t = std::tanh(kGeluScale * (u + kGeluCubic * u * u * u));
        const float inner_slope = kGeluScale * (1.0F + 3.0F * kGeluCubic * u * u);
        dxs[i] = dys[i] * (0.5F * (1.0F + t) + 0.5F * u * (1.0F - t * t) * inner_slope);
    }
}

void CpuKernels::mse_backward(const Tensor& dprediction, const Tensor& dloss, const Tensor& prediction,
                              const Tensor& target) const {
    expect_count("mse.backward", dloss, 1);
    expect_count("mse.backward", target, prediction.n_elements());
    expect_count("mse.backward", dprediction, prediction.n_elements());
    const int64_t n = prediction.n_elements();
    const float factor = 2.0F / static_cast<float>(n) * numbers(dloss)[0];
    const float* ps = numbers(prediction);
    const float* ts = numbers(target);
    float* ds = numbers_out(dprediction);
    for (int64_t i = 0; i < n; ++i) ds[i] = factor * (ps[i] - ts[i]);
}

void CpuKernels::sgd_step(const Tensor& value, const Tensor& grad, const Tensor& buffer,
                          const SgdStep& step) const {
    expect_count("sgd", grad, value.n_elements());
    const int64_t n = value.n_elements();
    const auto lr = static_cast<float>(step.lr);
    const auto momentum = static_cast<float>(step.momentum);
    const auto decay = static_cast<float>(step.weight_decay);
    float* values = numbers_out(value);
    const float* grads = numbers(grad);
    if (step.momentum == 0.0) {
        for (int64_t i = 0; i < n; ++i) values[i] -= lr * (grads[i] + decay * values[i]);
        return;
    }
    expect_count("sgd", buffer, n);
    float* bufs = numbers_out(buffer);
    for (int64_t i = 0; i < n; ++i) {
        const float g = grads[i] + decay * values[i];
        bufs[i] = step.first ? g : momentum * bufs[i] + g;
        values[i] -= lr * bufs[i];
    }
}

void CpuKernels::adam_step(const Tensor& value, const Tensor& grad, const Tensor& m, const Tensor& v,
                           const AdamStep& step) const {
    for (const Tensor& tensor : {grad, m, v}) expect_count("adam", tensor, value.n_elements());
    const int64_t n = value.n_elements();
    float* values = numbers_out(value);
    const float* grads = numbers(grad);
    float* ms = numbers_out(m);
    float* vs = numbers_out(v);
    // The scalars in double and the elements in float32, in the order of torch/optim/adam.py's single-tensor
    // path.
    const double correction1 = 1.0 - std::pow(step.beta1, static_cast<double>(step.step));
    const auto root_correction2 =
        static_cast<float>(std::sqrt(1.0 - std::pow(step.beta2, static_cast<double>(step.step))));
    const auto step_size = static_cast<float>(step.lr / correction1);
    const auto shrink = static_cast<float>(step.decoupled ? 1.0 - step.lr * step.weight_decay : 1.0);
    const auto decay = static_cast<float>(step.decoupled ? 0.0 : step.weight_decay);
    const auto beta2 = static_cast<float>(step.beta2);
    const auto share1 = static_cast<float>(1.0 - step.beta1);
    const auto share2 = static_cast<float>(1.0 - step.beta2);
    const auto eps = static_cast<float>(step.eps);
    for (int64_t i = 0; i < n; ++i) {
        const float g = grads[i] + decay * values[i];
        ms[i] += share1 * (g - ms[i]);
        vs[i] = beta2 * vs[i] + share2 * g * g;
        values[i] = shrink * values[i] - step_size * (ms[i] / (std::sqrt(vs[i]) / root_correction2 + eps));
    }
}

}  // namespace meshscope::tensor
