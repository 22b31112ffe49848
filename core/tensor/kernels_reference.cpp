#include "core/tensor/kernels_reference.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numbers>

#include "core/base/error.h"
#include "core/tensor/dtype.h"
#include "core/tensor/kernel_parts.h"

namespace meshscope::tensor {
namespace {

// √(2/π) and the cubic's factor of the tanh form of gelu.
const double kGeluScale = std::sqrt(2.0 / std::numbers::pi);
constexpr double kGeluCubic = 0.044715;

float round_to_float(double x) {
    return static_cast<float>(x);
}

}  // namespace

void ReferenceKernels::zero(const Tensor& out) const {
    if (out.n_elements() > 0) std::memset(out.raw(), 0, static_cast<std::size_t>(out.bytes()));
}

void ReferenceKernels::fill(const Tensor& out, float value) const {
    std::ranges::fill(out.data<float>(), value);
}

void ReferenceKernels::copy(const Tensor& out, const Tensor& in) const {
    if (in.n_elements() > 0) std::memmove(out.raw(), in.raw(), static_cast<std::size_t>(in.bytes()));
}

void ReferenceKernels::transfer(const Tensor& out, const Tensor& in) const {
    copy(out, in);
}

void ReferenceKernels::cast(const Tensor& out, const Tensor& in) const {
    if (out.dtype() == in.dtype()) return copy(out, in);
    if (cast_float16(out, in)) return;
    if (out.dtype() == DType::bfloat16) {
        std::ranges::transform(in.data<float>(), out.data<uint16_t>().begin(), to_bfloat16);
    } else {
        std::ranges::transform(in.data<uint16_t>(), out.data<float>().begin(), from_bfloat16);
    }
}

void ReferenceKernels::upload(const Tensor& out, std::span<const float> numbers) const {
    std::ranges::copy(numbers, out.data<float>().begin());
}

void ReferenceKernels::download(std::span<float> numbers, const Tensor& in) const {
    std::ranges::copy(in.data<float>(), numbers.begin());
}

void ReferenceKernels::scale(const Tensor& in_out, float factor) const {
    for (float& x : in_out.data<float>()) x *= factor;
}

void ReferenceKernels::axpy(const Tensor& y, float a, const Tensor& x) const {
    const auto ys = y.data<float>();
    const auto xs = x.data<float>();
    for (std::size_t i = 0; i < ys.size(); ++i)
        ys[i] = round_to_float(static_cast<double>(a) * xs[i] + ys[i]);
}

void ReferenceKernels::add(const Tensor& out, const Tensor& a, const Tensor& b) const {
    const auto as = a.data<float>();
    const auto bs = b.data<float>();
    const auto outs = out.data<float>();
    for (std::size_t i = 0; i < outs.size(); ++i) outs[i] = as[i] + bs[i];
}

void ReferenceKernels::add_rows(const Tensor& out, const Tensor& a, const Tensor& row) const {
    const auto width = static_cast<std::size_t>(row.n_elements());
    const auto as = a.data<float>();
    const auto added = row.data<float>();
    const auto outs = out.data<float>();
    for (std::size_t first = 0; first < outs.size(); first += width)
        for (std::size_t i = 0; i < width; ++i) outs[first + i] = as[first + i] + added[i];
}

void ReferenceKernels::multiply(const Tensor& out, const Tensor& a, const Tensor& b) const {
    std::ranges::transform(a.data<float>(), b.data<float>(), out.data<float>().begin(),
                           [](float x, float y) { return x * y; });
}

void ReferenceKernels::linear_forward(const Tensor& y, const Tensor& x, const Tensor& weight,
                                      const Tensor& bias) const {
    const auto [rows, inputs, outputs] = linear_sizes(x, weight);
    const float* xs = x.data<float>().data();
    const float* ws = weight.data<float>().data();
    float* ys = y.data<float>().data();
    for (int64_t r = 0; r < rows; ++r) {
        for (int64_t o = 0; o < outputs; ++o) {
            double sum = bias.defined() ? bias.data<float>().data()[o] : 0.0F;
            for (int64_t i = 0; i < inputs; ++i)
                sum += static_cast<double>(xs[r * inputs + i]) * ws[o * inputs + i];
            ys[r * outputs + o] = round_to_float(sum);
        }
    }
}

void ReferenceKernels::linear_input_grad(const Tensor& dx, const Tensor& dy, const Tensor& weight) const {
    const auto [rows, inputs, outputs] = linear_sizes(dx, weight);
    const float* dys = dy.data<float>().data();
    const float* ws = weight.data<float>().data();
    float* dxs = dx.data<float>().data();
    for (int64_t r = 0; r < rows; ++r) {
        for (int64_t i = 0; i < inputs; ++i) {
            double sum = 0.0;
            for (int64_t o = 0; o < outputs; ++o)
                sum += static_cast<double>(dys[r * outputs + o]) * ws[o * inputs + i];
            dxs[r * inputs + i] = round_to_float(sum);
        }
    }
}

void ReferenceKernels::linear_weight_grad(const Tensor& dw, const Tensor& dy, const Tensor& x,
                                          bool accumulate) const {
    const auto [rows, inputs, outputs] = linear_sizes(x, dw);
    const float* dys = dy.data<float>().data();
    const float* xs = x.data<float>().data();
    float* dws = dw.data<float>().data();
    for (int64_t o = 0; o < outputs; ++o) {
        for (int64_t i = 0; i < inputs; ++i) {
            double sum = accumulate ? dws[o * inputs + i] : 0.0F;
            for (int64_t r = 0; r < rows; ++r)
                sum += static_cast<double>(dys[r * outputs + o]) * xs[r * inputs + i];
            dws[o * inputs + i] = round_to_float(sum);
        }
    }
}

void ReferenceKernels::linear_bias_grad(const Tensor& db, const Tensor& dy, bool accumulate) const {
    const int64_t outputs = db.n_elements();
    const int64_t rows = outputs == 0 ? 0 : dy.n_elements() / outputs;
    const float* dys = dy.data<float>().data();
    float* dbs = db.data<float>().data();
    for (int64_t o = 0; o < outputs; ++o) {
        double sum = accumulate ? dbs[o] : 0.0F;
        for (int64_t r = 0; r < rows; ++r) sum += dys[r * outputs + o];
        dbs[o] = round_to_float(sum);
    }
}

void ReferenceKernels::relu_forward(const Tensor& y, const Tensor& x) const {
    std::ranges::transform(x.data<float>(), y.data<float>().begin(),
                           [](float v) { return v < 0.0F ? 0.0F : v; });
}

void ReferenceKernels::relu_backward(const Tensor& dx, const Tensor& dy, const Tensor& y) const {
    std::ranges::transform(dy.data<float>(), y.data<float>(), dx.data<float>().begin(),
                           [](float g, float v) { return v > 0.0F ? g : 0.0F; });
}

void ReferenceKernels::gelu_tanh_forward(const Tensor& y, const Tensor& x) const {
    std::ranges::transform(x.data<float>(), y.data<float>().begin(), [](float v) {
        const double u = v;
        return round_to_float(0.5 * u * (1.0 + std::tanh(kGeluScale * (u + kGeluCubic * u * u * u))));
    });
}

void ReferenceKernels::gelu_forward(const Tensor& y, const Tensor& x) const {
    std::ranges::transform(x.data<float>(), y.data<float>().begin(), [](float v) {
        const double u = v;
        return round_to_float(0.5 * u * std::erfc(-u / std::numbers::sqrt2));
    });
}

void ReferenceKernels::gelu_backward(const Tensor& dx, const Tensor& dy, const Tensor& x) const {
    std::ranges::transform(dy.data<float>(), x.data<float>(), dx.data<float>().begin(), [](float g, float v) {
        const double u = v;
        const double density = std::exp(-0.5 * u * u) / std::sqrt(2.0 * std::numbers::pi);
        return round_to_float(g * (0.5 * std::erfc(-u / std::numbers::sqrt2) + u * density));
    });
}

void ReferenceKernels::gelu_tanh_backward(const Tensor& dx, const Tensor& dy, const Tensor& x) const {
    std::ranges::transform(dy.data<float>(), x.data<float>(), dx.data<float>().begin(), [](float g, float v) {
        const double u = v;
        const double t = std::tanh(kGeluScale * (u + kGeluCubic * u * u * u));
        const double slope =
            0.5 * (1.0 + t) + 0.5 * u * (1.0 - t * t) * kGeluScale * (1.0 + 3.0 * kGeluCubic * u * u);
        return round_to_float(g * slope);
    });
}

void ReferenceKernels::mse_forward(const Tensor& loss, const Tensor& prediction, const Tensor& target) const {
    const auto ps = prediction.data<float>();
    const auto ts = target.data<float>();
    double sum = 0.0;
    for (std::size_t i = 0; i < ps.size(); ++i) {
        const double difference = static_cast<double>(ps[i]) - ts[i];
        sum += difference * difference;
    }
    // The mean of nothing is 0/0, as in PyTorch.
    loss.data<float>()[0] = round_to_float(sum / static_cast<double>(ps.size()));
}

void ReferenceKernels::mse_backward(const Tensor& dprediction, const Tensor& dloss, const Tensor& prediction,
                                    const Tensor& target) const {
    const double factor = 2.0 * dloss.data<float>()[0] / static_cast<double>(prediction.n_elements());
    std::ranges::transform(
        prediction.data<float>(), target.data<float>(), dprediction.data<float>().begin(),
        [factor](float p, float t) { return round_to_float(factor * (static_cast<double>(p) - t)); });
}

double ReferenceKernels::sum_of_squares(const Tensor& in) const {
    double sum = 0.0;
    for (const float x : in.data<float>()) sum += static_cast<double>(x) * x;
    return sum;
}

void ReferenceKernels::sgd_step(const Tensor& value, const Tensor& grad, const Tensor& buffer,
                                const SgdStep& step) const {
    const bool has_buffer = step.momentum != 0.0;
    const auto values = value.data<float>();
    const auto grads = grad.data<float>();
    for (std::size_t i = 0; i < values.size(); ++i) {
        double g = grads[i] + step.weight_decay * values[i];
        if (has_buffer) {
            float& buf = buffer.data<float>()[i];
            buf = round_to_float(step.first ? g : step.momentum * buf + g);
            g = buf;
        }
        values[i] = round_to_float(values[i] - step.lr * g);
    }
}

void ReferenceKernels::adam_step(const Tensor& value, const Tensor& grad, const Tensor& m, const Tensor& v,
                                 const AdamStep& step) const {
    const auto values = value.data<float>();
    const auto grads = grad.data<float>();
    const auto ms = m.data<float>();
    const auto vs = v.data<float>();
    const double correction1 = 1.0 - std::pow(step.beta1, static_cast<double>(step.step));
    const double correction2 = 1.0 - std::pow(step.beta2, static_cast<double>(step.step));
    for (std::size_t i = 0; i < values.size(); ++i) {
        const double decayed = step.decoupled ? values[i] * (1.0 - step.lr * step.weight_decay) : values[i];
        const double g = step.decoupled ? grads[i] : grads[i] + step.weight_decay * values[i];
        ms[i] = round_to_float(ms[i] + (1.0 - step.beta1) * (g - ms[i]));
        vs[i] = round_to_float(step.beta2 * vs[i] + (1.0 - step.beta2) * g * g);
        const double v_hat = vs[i] / correction2;
        values[i] = round_to_float(decayed - step.lr * (ms[i] / correction1) / (std::sqrt(v_hat) + step.eps));
    }
}

}  // namespace meshscope::tensor
