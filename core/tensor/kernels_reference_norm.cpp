// Layer norm, RMS norm and SiLU as their formulas read.
#include <algorithm>
#include <cmath>

#include "core/tensor/kernel_parts.h"
#include "core/tensor/kernels_reference.h"

namespace meshscope::tensor {
namespace {

/// One row's means that both norms' input gradients need: of g = dy · weight, and of g · h with h the
/// normalised x.
struct RowMeans {
    double g = 0.0;
    double gh = 0.0;
};

RowMeans row_means(const float* dy, const float* x, const float* weight, double mean, double rstd,
                   int64_t n) {
    RowMeans means;
    for (int64_t i = 0; i < n; ++i) {
        const double g = static_cast<double>(dy[i]) * weight[i];
        means.g += g;
        means.gh += g * (x[i] - mean) * rstd;
    }
    means.g /= static_cast<double>(n);
    means.gh /= static_cast<double>(n);
    return means;
}

/// dw[i] = Σ over rows of dy · (x - mean) · rstd; `mean` may be null: 0.
void weight_grad(float* dw, const float* dy, const float* x, const float* mean, const float* rstd,
                 int64_t rows, int64_t n, bool accumulate) {
    for (int64_t i = 0; i < n; ++i) {
        double sum = accumulate ? dw[i] : 0.0F;
        for (int64_t r = 0; r < rows; ++r) {
            const double centre = mean == nullptr ? 0.0F : mean[r];
            sum += dy[r * n + i] * (x[r * n + i] - centre) * rstd[r];
        }
        dw[i] = static_cast<float>(sum);
    }
}

double sigmoid(double x) {
    return 1.0 / (1.0 + std::exp(-x));
}

}  // namespace

void ReferenceKernels::layer_norm_forward(const Tensor& y, const Tensor& mean, const Tensor& rstd,
                                          const Tensor& x, const Tensor& weight, const Tensor& bias,
                                          double eps) const {
    const int64_t n = weight.n_elements();
    const int64_t rows = mean.n_elements();
    const float* ws = weight.data<float>().data();
    const float* bs = bias.defined() ? bias.data<float>().data() : nullptr;
    for (int64_t r = 0; r < rows; ++r) {
        const float* xs = x.data<float>().data() + r * n;
        float* ys = y.data<float>().data() + r * n;
        double sum = 0.0;
        for (int64_t i = 0; i < n; ++i) sum += xs[i];
        const double centre = sum / static_cast<double>(n);
        double squares = 0.0;
        for (int64_t i = 0; i < n; ++i) squares += (xs[i] - centre) * (xs[i] - centre);
        const double factor = 1.0 / std::sqrt(squares / static_cast<double>(n) + eps);
        mean.data<float>()[static_cast<std::size_t>(r)] = static_cast<float>(centre);
        rstd.data<float>()[static_cast<std::size_t>(r)] = static_cast<float>(factor);
        for (int64_t i = 0; i < n; ++i)
            ys[i] = static_cast<float>((xs[i] - centre) * factor * ws[i] + (bs == nullptr ? 0.0F : bs[i]));
    }
}

void ReferenceKernels::layer_norm_input_grad(const Tensor& dx, const Tensor& dy, const Tensor& x,
                                             const Tensor& mean, const Tensor& rstd,
                                             const Tensor& weight) const {
    const int64_t n = weight.n_elements();
    const float* ws = weight.data<float>().data();
    for (int64_t r = 0; r < mean.n_elements(); ++r) {
        const float* xs = x.data<float>().data() + r * n;
        const float* dys = dy.data<float>().data() + r * n;
        float* dxs = dx.data<float>().data() + r * n;
        const double centre = mean.data<float>()[static_cast<std::size_t>(r)];
        const double factor = rstd.data<float>()[static_cast<std::size_t>(r)];
        const RowMeans means = row_means(dys, xs, ws, centre, factor, n);
        for (int64_t i = 0; i < n; ++i) {
            const double g = static_cast<double>(dys[i]) * ws[i];
            const double h = (xs[i] - centre) * factor;
            dxs[i] = static_cast<float>(factor * (g - means.g - h * means.gh));
        }
    }
}

void ReferenceKernels::layer_norm_weight_grad(const Tensor& dw, const Tensor& db, const Tensor& dy,
                                              const Tensor& x, const Tensor& mean, const Tensor& rstd,
                                              bool accumulate) const {
    const int64_t n = dw.n_elements();
    const int64_t rows = mean.n_elements();
    weight_grad(dw.data<float>().data(), dy.data<float>().data(), x.data<float>().data(),
                mean.data<float>().data(), rstd.data<float>().data(), rows, n, accumulate);
    if (!db.defined()) return;
    const float* dys = dy.data<float>().data();
    float* dbs = db.data<float>().data();
    for (int64_t i = 0; i < n; ++i) {
        double sum = accumulate ? dbs[i] : 0.0F;
        for (int64_t r = 0; r < rows; ++r) sum += dys[r * n + i];
        dbs[i] = static_cast<float>(sum);
    }
}

void ReferenceKernels::rms_norm_forward(const Tensor& y, const Tensor& rstd, const Tensor& x,
                                        const Tensor& weight, double eps) const {
    const int64_t n = weight.n_elements();
    const float* ws = weight.data<float>().data();
    for (int64_t r = 0; r < rstd.n_elements(); ++r) {
        const float* xs = x.data<float>().data() + r * n;
        float* ys = y.data<float>().data() + r * n;
        double squares = 0.0;
        for (int64_t i = 0; i < n; ++i) squares += static_cast<double>(xs[i]) * xs[i];
        const double factor = 1.0 / std::sqrt(squares / static_cast<double>(n) + eps);
        rstd.data<float>()[static_cast<std::size_t>(r)] = static_cast<float>(factor);
        for (int64_t i = 0; i < n; ++i) ys[i] = static_cast<float>(xs[i] * factor * ws[i]);
    }
}

void ReferenceKernels::rms_norm_input_grad(const Tensor& dx, const Tensor& dy, const Tensor& x,
                                           const Tensor& rstd, const Tensor& weight) const {
    const int64_t n = weight.n_elements();
    const float* ws = weight.data<float>().data();
    for (int64_t r = 0; r < rstd.n_elements(); ++r) {
        const float* xs = x.data<float>().data() + r * n;
        const float* dys = dy.data<float>().data() + r * n;
        float* dxs = dx.data<float>().data() + r * n;
        const double factor = rstd.data<float>()[static_cast<std::size_t>(r)];
        const RowMeans means = row_means(dys, xs, ws, 0.0, factor, n);
        for (int64_t i = 0; i < n; ++i) {
            const double g = static_cast<double>(dys[i]) * ws[i];
            dxs[i] = static_cast<float>(factor * (g - xs[i] * factor * means.gh));
        }
    }
}

void ReferenceKernels::rms_norm_weight_grad(const Tensor& dw, const Tensor& dy, const Tensor& x,
                                            const Tensor& rstd, bool accumulate) const {
    weight_grad(dw.data<float>().data(), dy.data<float>().data(), x.data<float>().data(), nullptr,
                rstd.data<float>().data(), rstd.n_elements(), dw.n_elements(), accumulate);
}

void ReferenceKernels::silu_mul_forward(const Tensor& y, const Tensor& gate, const Tensor& up) const {
    std::ranges::transform(gate.data<float>(), up.data<float>(), y.data<float>().begin(),
                           [](float g, float u) { return static_cast<float>(g * sigmoid(g) * u); });
}

void ReferenceKernels::silu_mul_backward(const Tensor& dgate, const Tensor& dup, const Tensor& dy,
                                         const Tensor& gate, const Tensor& up) const {
    const auto gates = gate.data<float>();
    const auto ups = up.data<float>();
    const auto dys = dy.data<float>();
    const auto dgates = dgate.data<float>();
    const auto dups = dup.data<float>();
    for (std::size_t i = 0; i < gates.size(); ++i) {
        const double g = gates[i];
        const double s = sigmoid(g);
        const double dgate_i = dys[i] * ups[i] * s * (1.0 + g * (1.0 - s));
        dups[i] = static_cast<float>(dys[i] * g * s);
        dgates[i] = static_cast<float>(dgate_i);
    }
}

}  // namespace meshscope::tensor
