// Batch norm row by row: columns lie side by side, so each row is one pass of independent sums, in double
// where they are long, and each feature's factors are worked out once for all rows.
#include <cmath>
#include <vector>

#include "core/tensor/kernel_parts.h"
#include "core/tensor/kernels_cpu.h"

namespace meshscope::tensor {
namespace {

using Doubles = std::vector<double>;

Doubles widened(const float* from, int64_t n) {
    return {from, from + n};
}

}  // namespace

void CpuKernels::batch_norm_stats(const Tensor& statistics, const Tensor& x, double eps) const {
    const int64_t n = (statistics.n_elements() - 1) / 2;
    const int64_t rows = n == 0 ? 0 : x.n_elements() / n;
    const auto size = static_cast<std::size_t>(n);
    Doubles mean(size, 0.0), squares(size, 0.0);
    const float* row = numbers(x);
    for (int64_t r = 0; r < rows; ++r, row += n)
        for (std::size_t i = 0; i < size; ++i) mean[i] += row[i];
    for (double& m : mean) m /= static_cast<double>(rows);
    row = numbers(x);
    for (int64_t r = 0; r < rows; ++r, row += n)
        for (std::size_t i = 0; i < size; ++i) squares[i] += (row[i] - mean[i]) * (row[i] - mean[i]);
    float* out = numbers(statistics);
    for (std::size_t i = 0; i < size; ++i) {
        out[i] = static_cast<float>(mean[i]);
        out[size + i] = static_cast<float>(1.0 / std::sqrt(squares[i] / static_cast<double>(rows) + eps));
    }
    out[2 * size] = static_cast<float>(rows);
}

void CpuKernels::batch_norm_elemt(const Tensor& y, const Tensor& x, const Tensor& mean, const Tensor& invstd,
                                  const Tensor& weight, const Tensor& bias) const {
    const int64_t rows = times(mean.n_elements(), y.n_elements());
    const int64_t n = mean.n_elements();
    const auto size = static_cast<std::size_t>(n);
    Doubles scale(size);
    for (std::size_t i = 0; i < size; ++i)
        scale[i] = static_cast<double>(numbers(invstd)[i]) * numbers(weight)[i];
    const Doubles centre = widened(numbers(mean), n), shift = widened(numbers(bias), n);
    const float* from = numbers(x);
    float* to = numbers(y);
    for (int64_t r = 0; r < rows; ++r, from += n, to += n)
        for (std::size_t i = 0; i < size; ++i)
            to[i] = static_cast<float>((from[i] - centre[i]) * scale[i] + shift[i]);
}

void CpuKernels::batch_norm_backward_reduce(const Tensor& sums, const Tensor& dw, const Tensor& db,
                                            const Tensor& dy, const Tensor& x, const Tensor& mean,
                                            const Tensor& invstd) const {
    const int64_t rows = times(mean.n_elements(), dy.n_elements());
    const int64_t n = mean.n_elements();
    const auto size = static_cast<std::size_t>(n);
    const Doubles centre = widened(numbers(mean), n);
    Doubles sum(size, 0.0), weighed(size, 0.0);
    const float* xs = numbers(x);
    const float* dys = numbers(dy);
    for (int64_t r = 0; r < rows; ++r, xs += n, dys += n)
        for (std::size_t i = 0; i < size; ++i) {
            sum[i] += dys[i];
            weighed[i] += dys[i] * (xs[i] - centre[i]);
        }
    for (std::size_t i = 0; i < size; ++i) {
        numbers(sums)[i] = numbers(db)[i] = static_cast<float>(sum[i]);
        numbers(sums)[size + i] = static_cast<float>(weighed[i]);
        numbers(dw)[i] = static_cast<float>(weighed[i] * numbers(invstd)[i]);
    }
}

void CpuKernels::batch_norm_backward_elemt(const Tensor& dx, const Tensor& dy, const Tensor& x,
                                           const Tensor& mean, const Tensor& invstd, const Tensor& weight,
                                           const Tensor& sums, int64_t rows) const {
    const int64_t own = times(mean.n_elements(), dx.n_elements());
    const int64_t n = mean.n_elements();
    const auto size = static_cast<std::size_t>(n);
    const auto all = static_cast<double>(rows);
    Doubles scale(size), base(size), slope(size);
    for (std::size_t i = 0; i < size; ++i) {
        const double factor = numbers(invstd)[i];
        scale[i] = factor * numbers(weight)[i];
        base[i] = numbers(sums)[i] / all;
        slope[i] = factor * factor * numbers(sums)[size + i] / all;
    }
    const Doubles centre = widened(numbers(mean), n);
    const float* xs = numbers(x);
    const float* dys = numbers(dy);
    float* to = numbers(dx);
    for (int64_t r = 0; r < own; ++r, xs += n, dys += n, to += n)
        for (std::size_t i = 0; i < size; ++i)
            to[i] = static_cast<float>(scale[i] * (dys[i] - base[i] - (xs[i] - centre[i]) * slope[i]));
}

}  // namespace meshscope::tensor
