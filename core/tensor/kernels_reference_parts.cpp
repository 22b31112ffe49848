// Tables and logits cut by vocabulary: each rank computes what it can from its own classes.
#include <algorithm>
#include <cmath>
#include <limits>

#include "core/tensor/kernel_parts.h"
#include "core/tensor/kernels_reference.h"

namespace meshscope::tensor {
void ReferenceKernels::embedding_part_forward(const Tensor& y, const Tensor& table, const Tensor& indices,
                                              int64_t first) const {
    const int64_t n = table.dim(1);
    const float* rows = table.data<float>().data();
    float* ys = y.data<float>().data();
    for (const int64_t index : indices.data<int64_t>()) {
        const int64_t row = index - first;
        if (row >= 0 && row < table.dim(0))
            std::copy_n(rows + row * n, n, ys);
        else
            std::fill_n(ys, n, 0.0F);
        ys += n;
    }
}

void ReferenceKernels::embedding_part_backward(const Tensor& dtable, const Tensor& dy, const Tensor& indices,
                                               int64_t first, bool accumulate) const {
    const int64_t n = dtable.dim(1);
    float* rows = dtable.data<float>().data();
    const float* dys = dy.data<float>().data();
    if (!accumulate) zero(dtable);
    for (const int64_t index : indices.data<int64_t>()) {
        const int64_t row = index - first;
        if (row >= 0 && row < dtable.dim(0))
            for (int64_t i = 0; i < n; ++i) rows[row * n + i] += dys[i];
        dys += n;
    }
}

void ReferenceKernels::row_max(const Tensor& largest, const Tensor& logits) const {
    const int64_t classes = times(largest.n_elements(), logits.n_elements());
    const float* xs = logits.n_elements() == 0 ? nullptr : logits.data<float>().data();
    for (float& out : largest.data<float>()) {
        out = -std::numeric_limits<float>::infinity();
        // Not std::max: a NaN must come through, so that the loss shows it.
        for (int64_t c = 0; c < classes; ++c)
            if (!(xs[c] <= out) && !std::isnan(out)) out = xs[c];
        xs += classes;
    }
}

void ReferenceKernels::row_sum_exp(const Tensor& sums, const Tensor& logits, const Tensor& largest) const {
    const int64_t rows = sums.n_elements();
    const int64_t classes = times(rows, logits.n_elements());
    const float* xs = logits.n_elements() == 0 ? nullptr : logits.data<float>().data();
    for (int64_t r = 0; r < rows; ++r) {
        const double shift = largest.data<float>()[static_cast<std::size_t>(r)];
        double total = 0.0;
        for (int64_t c = 0; c < classes; ++c) total += std::exp(xs[c] - shift);
        sums.data<float>()[static_cast<std::size_t>(r)] = static_cast<float>(total);
        xs += classes;
    }
}

void ReferenceKernels::pick_targets(const Tensor& picked, const Tensor& logits, const Tensor& targets,
                                    int64_t first) const {
    const int64_t rows = picked.n_elements();
    const int64_t classes = times(rows, logits.n_elements());
    const auto xs = logits.data<float>();
    for (int64_t r = 0; r < rows; ++r) {
        const auto at = static_cast<std::size_t>(r);
        const int64_t c = targets.data<int64_t>()[at] - first;
        const bool here = c >= 0 && c < classes;
        picked.data<float>()[at] = here ? xs[static_cast<std::size_t>(r * classes + c)] : 0.0F;
    }
}

void ReferenceKernels::cross_entropy_of_parts(const Tensor& loss, const Tensor& lse, const Tensor& largest,
                                              const Tensor& sums, const Tensor& picked, const Tensor& targets,
                                              double divisor) const {
    const int64_t rows = picked.n_elements();
    double sum = 0.0;
    for (std::size_t r = 0; r < static_cast<std::size_t>(rows); ++r) {
        const double log_sum = double(largest.data<float>()[r]) + std::log(double(sums.data<float>()[r]));
        lse.data<float>()[r] = static_cast<float>(log_sum);
        if (targets.data<int64_t>()[r] != kIgnoredTarget) sum += log_sum - double(picked.data<float>()[r]);
    }
    loss.data<float>()[0] = static_cast<float>(sum / divisor);
}

void ReferenceKernels::cross_entropy_part_backward(const Tensor& dlogits, const Tensor& dloss,
                                                   const Tensor& logits, const Tensor& lse,
                                                   const Tensor& targets, int64_t first,
                                                   double divisor) const {
    const int64_t classes = times(targets.n_elements(), logits.n_elements());
    const auto wanted = targets.data<int64_t>();
    const double factor = double(dloss.data<float>()[0]) / divisor;
    const auto xs = logits.data<float>();
    const auto ds = dlogits.data<float>();
    std::size_t at = 0;
    for (std::size_t r = 0; r < wanted.size(); ++r) {
        const bool counts = wanted[r] != kIgnoredTarget;
        const double log_sum = lse.data<float>()[r];
        for (int64_t c = 0; c < classes; ++c, ++at) {
            const double d = std::exp(double(xs[at]) - log_sum) - (c == wanted[r] - first ? 1.0 : 0.0);
            ds[at] = counts ? static_cast<float>(d * factor) : 0.0F;
        }
    }
}

}  // namespace meshscope::tensor
