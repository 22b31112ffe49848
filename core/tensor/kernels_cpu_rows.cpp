// What works row by row: norms, embedding, rotary positions, cross-entropy.
#include <algorithm>
#include <cmath>
#include <vector>

#include "core/tensor/kernel_parts.h"
#include "core/tensor/kernels_cpu.h"

namespace meshscope::tensor {

void CpuKernels::embedding_backward(const Tensor& dtable, const Tensor& dy, const Tensor& indices,
                                    bool accumulate) const {
    const int64_t n = dtable.dim(1);
    for (const int64_t index : indices.data<int64_t>())
        expect_index("embedding.backward", index, dtable.dim(0));
    if (!accumulate) zero(dtable);
    const float* dys = numbers(dy);
    for (const int64_t index : indices.data<int64_t>()) {
        loops_->add_rows(numbers(dtable) + index * n, dys, 1, n);
        dys += n;
    }
}

void CpuKernels::layer_norm_forward(const Tensor& y, const Tensor& mean, const Tensor& rstd, const Tensor& x,
                                    const Tensor& weight, const Tensor& bias, double eps) const {
    const int64_t n = weight.n_elements();
    loops_->norm_forward(numbers(y), numbers(mean), numbers(rstd), numbers(x), numbers(weight),
                         bias.defined() ? numbers(bias) : nullptr, eps, rstd.n_elements(), n);
}

void CpuKernels::layer_norm_input_grad(const Tensor& dx, const Tensor& dy, const Tensor& x,
                                       const Tensor& mean, const Tensor& rstd, const Tensor& weight) const {
    loops_->norm_input_grad(numbers(dx), numbers(dy), numbers(x), numbers(mean), numbers(rstd),
                            numbers(weight), rstd.n_elements(), weight.n_elements());
}

void CpuKernels::layer_norm_weight_grad(const Tensor& dw, const Tensor& db, const Tensor& dy, const Tensor& x,
                                        const Tensor& mean, const Tensor& rstd, bool accumulate) const {
    if (!accumulate) {
        zero(dw);
        if (db.defined()) zero(db);
    }
    loops_->norm_weight_grad(numbers(dw), db.defined() ? numbers(db) : nullptr, numbers(dy), numbers(x),
                             numbers(mean), numbers(rstd), rstd.n_elements(), dw.n_elements());
}

void CpuKernels::rms_norm_forward(const Tensor& y, const Tensor& rstd, const Tensor& x, const Tensor& weight,
                                  double eps) const {
    loops_->norm_forward(numbers(y), nullptr, numbers(rstd), numbers(x), numbers(weight), nullptr, eps,
                         rstd.n_elements(), weight.n_elements());
}

void CpuKernels::rms_norm_input_grad(const Tensor& dx, const Tensor& dy, const Tensor& x, const Tensor& rstd,
                                     const Tensor& weight) const {
    loops_->norm_input_grad(numbers(dx), numbers(dy), numbers(x), nullptr, numbers(rstd), numbers(weight),
                            rstd.n_elements(), weight.n_elements());
}

void CpuKernels::rms_norm_weight_grad(const Tensor& dw, const Tensor& dy, const Tensor& x, const Tensor& rstd,
                                      bool accumulate) const {
    if (!accumulate) zero(dw);
    loops_->norm_weight_grad(numbers(dw), nullptr, numbers(dy), numbers(x), nullptr, numbers(rstd),
                             rstd.n_elements(), dw.n_elements());
}

void CpuKernels::rotary(const Tensor& out, const Tensor& in, const RotaryShape& shape, bool inverse) const {
    const int64_t width = shape.heads * shape.head_dim;
    const auto half = static_cast<std::size_t>(shape.head_dim / 2);
    std::vector<double> frequencies(half);
    for (std::size_t i = 0; i < half; ++i)
        frequencies[i] =
            rotary_frequency(shape.theta, shape.head_dim, shape.scaling, static_cast<int64_t>(i));
    std::vector<float> cosines(half);
    std::vector<float> sines(half);
    // Token by token, so a token's angles are computed once for all batch rows and heads.
    for (int64_t t = 0; t < shape.tokens; ++t) {
        const int64_t position = shape.positions.defined()
                                     ? shape.positions.data<int64_t>()[static_cast<std::size_t>(t)]
                                     : shape.first_position + t;
        for (std::size_t i = 0; i < half; ++i) {
            const double angle = static_cast<double>(position) * frequencies[i];
            cosines[i] = static_cast<float>(std::cos(angle));
            sines[i] = static_cast<float>(inverse ? -std::sin(angle) : std::sin(angle));
        }
        for (int64_t b = 0; b < shape.batch; ++b) {
            const int64_t row = (b * shape.tokens + t) * width;
            const auto turn = shape.halves ? loops_->rotate_halves : loops_->rotate;
            turn(numbers(out) + row, numbers(in) + row, cosines.data(), sines.data(), shape.heads,
                 shape.head_dim);
        }
    }
}

void CpuKernels::cross_entropy_forward(const Tensor& loss, const Tensor& lse, const Tensor& logits,
                                       const Tensor& targets, double divisor) const {
    const int64_t classes = times(targets.n_elements(), logits.n_elements());
    const auto wanted = targets.data<int64_t>();
    const float* row = numbers(logits);
    double sum = 0.0;
    for (std::size_t r = 0; r < wanted.size(); ++r, row += classes) {
        expect_target("cross_entropy", wanted[r], classes);
        const float largest = loops_->largest(row, classes);
        const double total = loops_->sum_of_exp(row, largest, classes);
        const double log_sum = largest + std::log(total);
        numbers(lse)[r] = static_cast<float>(log_sum);
        if (wanted[r] != kIgnoredTarget) sum += log_sum - row[wanted[r]];
    }
    numbers(loss)[0] = static_cast<float>(sum / divisor);
}

void CpuKernels::cross_entropy_backward(const Tensor& dlogits, const Tensor& dloss, const Tensor& logits,
                                        const Tensor& lse, const Tensor& targets, double divisor) const {
    const int64_t classes = times(targets.n_elements(), logits.n_elements());
    for (const int64_t target : targets.data<int64_t>())
        expect_target("cross_entropy.backward", target, classes);
    cross_entropy_part_backward(dlogits, dloss, logits, lse, targets, 0, divisor);
}

void CpuKernels::row_sum_exp(const Tensor& sums, const Tensor& logits, const Tensor& largest) const {
    const int64_t rows = sums.n_elements();
    const int64_t classes = rows == 0 ? 0 : logits.n_elements() / rows;
    for (int64_t r = 0; r < rows; ++r)
        numbers(sums)[r] = loops_->sum_of_exp(numbers(logits) + r * classes, numbers(largest)[r], classes);
}

void CpuKernels::cross_entropy_part_backward(const Tensor& dlogits, const Tensor& dloss, const Tensor& logits,
                                             const Tensor& lse, const Tensor& targets, int64_t first,
                                             double divisor) const {
    const int64_t classes = times(targets.n_elements(), logits.n_elements());
    const auto wanted = targets.data<int64_t>();
    const auto factor = static_cast<float>(double{numbers(dloss)[0]} / divisor);
    const float* row = numbers(logits);
    float* drow = numbers(dlogits);
    for (std::size_t r = 0; r < wanted.size(); ++r, row += classes, drow += classes) {
        if (wanted[r] == kIgnoredTarget) {
            std::fill_n(drow, classes, 0.0F);
            continue;
        }
        loops_->scaled_exp(drow, row, numbers(lse)[r], factor, classes);
        const int64_t target = wanted[r] - first;
        if (target >= 0 && target < classes) drow[target] -= factor;
    }
}

}  // namespace meshscope::tensor
