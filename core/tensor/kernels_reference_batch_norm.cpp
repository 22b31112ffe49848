// Batch norm as its formulas read, column by column.
#include <cmath>

#include "core/tensor/kernel_parts.h"
#include "core/tensor/kernels_reference.h"

namespace meshscope::tensor {

void ReferenceKernels::batch_norm_stats(const Tensor& statistics, const Tensor& x, double eps) const {
    const int64_t n = (statistics.n_elements() - 1) / 2;
    const int64_t rows = n == 0 ? 0 : x.n_elements() / n;
    const float* xs = x.data<float>().data();
    float* out = statistics.data<float>().data();
    for (int64_t i = 0; i < n; ++i) {
        double sum = 0.0;
        for (int64_t r = 0; r < rows; ++r) sum += xs[r * n + i];
        const double mean = sum / static_cast<double>(rows);
        double squares = 0.0;
        for (int64_t r = 0; r < rows; ++r) squares += (xs[r * n + i] - mean) * (xs[r * n + i] - mean);
        out[i] = static_cast<float>(mean);
        out[n + i] = static_cast<float>(1.0 / std::sqrt(squares / static_cast<double>(rows) + eps));
    }
    out[2 * n] = static_cast<float>(rows);
}

int64_t ReferenceKernels::batch_norm_gather_stats(const Tensor& mean, const Tensor& invstd,
                                                  const Tensor& running_mean, const Tensor& running_var,
                                                  const Tensor& statistics, double momentum,
                                                  double eps) const {
    const int64_t n = mean.n_elements();
    const int64_t parts = statistics.n_elements() / (2 * n + 1);
    const float* in = statistics.data<float>().data();
    const auto count = [&](int64_t p) { return static_cast<double>(in[p * (2 * n + 1) + 2 * n]); };
    double rows = 0.0;
    for (int64_t p = 0; p < parts; ++p) rows += count(p);
    const auto move = [momentum](float& running, double now) {
        running = static_cast<float>((1.0 - momentum) * running + momentum * now);
    };
    for (int64_t i = 0; i < n; ++i) {
        const auto at = static_cast<std::size_t>(i);
        double sum = 0.0;
        for (int64_t p = 0; p < parts; ++p) sum += count(p) * in[p * (2 * n + 1) + i];
        const double centre = sum / rows;
        // What each part's rows lie from its own mean, and that mean from the mean of all.
        double squares = 0.0;
        for (int64_t p = 0; p < parts; ++p) {
            const double away = in[p * (2 * n + 1) + i] - centre;
            const double factor = in[p * (2 * n + 1) + n + i];
            squares += count(p) * (1.0 / (factor * factor) - eps + away * away);
        }
        mean.data<float>()[at] = static_cast<float>(centre);
        invstd.data<float>()[at] = static_cast<float>(1.0 / std::sqrt(squares / rows + eps));
        move(running_mean.data<float>()[at], centre);
        move(running_var.data<float>()[at], squares / (rows - 1.0));
    }
    return static_cast<int64_t>(rows);
}

void ReferenceKernels::batch_norm_elemt(const Tensor& y, const Tensor& x, const Tensor& mean,
                                        const Tensor& invstd, const Tensor& weight,
                                        const Tensor& bias) const {
    const int64_t rows = times(mean.n_elements(), y.n_elements());
    const int64_t n = mean.n_elements();
    const auto means = mean.data<float>(), factors = invstd.data<float>();
    const auto ws = weight.data<float>(), bs = bias.data<float>();
    for (int64_t r = 0; r < rows; ++r)
        for (int64_t i = 0; i < n; ++i) {
            const auto at = static_cast<std::size_t>(i), here = static_cast<std::size_t>(r * n + i);
            const double h = (static_cast<double>(x.data<float>()[here]) - means[at]) * factors[at];
            y.data<float>()[here] = static_cast<float>(h * ws[at] + bs[at]);
        }
}

void ReferenceKernels::batch_norm_backward_reduce(const Tensor& sums, const Tensor& dw, const Tensor& db,
                                                  const Tensor& dy, const Tensor& x, const Tensor& mean,
                                                  const Tensor& invstd) const {
    const int64_t rows = times(mean.n_elements(), dy.n_elements());
    const int64_t n = mean.n_elements();
    const float* xs = x.data<float>().data();
    const float* dys = dy.data<float>().data();
    for (int64_t i = 0; i < n; ++i) {
        const auto at = static_cast<std::size_t>(i);
        double sum = 0.0, weighed = 0.0;
        for (int64_t r = 0; r < rows; ++r) {
            sum += dys[r * n + i];
            weighed += dys[r * n + i] * (static_cast<double>(xs[r * n + i]) - mean.data<float>()[at]);
        }
        sums.data<float>()[at] = db.data<float>()[at] = static_cast<float>(sum);
        sums.data<float>()[static_cast<std::size_t>(n) + at] = static_cast<float>(weighed);
        dw.data<float>()[at] = static_cast<float>(weighed * invstd.data<float>()[at]);
    }
}

void ReferenceKernels::batch_norm_backward_elemt(const Tensor& dx, const Tensor& dy, const Tensor& x,
                                                 const Tensor& mean, const Tensor& invstd,
                                                 const Tensor& weight, const Tensor& sums,
                                                 int64_t rows) const {
    const int64_t own = times(mean.n_elements(), dx.n_elements());
    const int64_t n = mean.n_elements();
    const auto all = static_cast<double>(rows);
    for (int64_t r = 0; r < own; ++r)
        for (int64_t i = 0; i < n; ++i) {
            const auto at = static_cast<std::size_t>(i), here = static_cast<std::size_t>(r * n + i);
            const double factor = invstd.data<float>()[at];
            const double away = static_cast<double>(x.data<float>()[here]) - mean.data<float>()[at];
            const double sum = sums.data<float>()[at];
            const double weighed = sums.data<float>()[static_cast<std::size_t>(n) + at];
            dx.data<float>()[here] = static_cast<float>(
                weight.data<float>()[at] * factor *
                (dy.data<float>()[here] - sum / all - away * factor * factor * weighed / all));
        }
}

}  // namespace meshscope::tensor
