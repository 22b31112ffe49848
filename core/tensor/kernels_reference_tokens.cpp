// What turns tokens into numbers and numbers into a loss: embedding, rotary positions, cross-entropy.
#include <algorithm>
#include <cmath>
#include <limits>

#include "core/tensor/kernel_parts.h"
#include "core/tensor/kernels_reference.h"

namespace meshscope::tensor {

void ReferenceKernels::embedding_forward(const Tensor& y, const Tensor& table, const Tensor& indices) const {
    const int64_t n = table.dim(1);
    const float* rows = table.data<float>().data();
    float* ys = y.data<float>().data();
    for (const int64_t index : indices.data<int64_t>()) {
        expect_index("embedding", index, table.dim(0));
        ys = std::copy_n(rows + index * n, n, ys);
    }
}

void ReferenceKernels::embedding_backward(const Tensor& dtable, const Tensor& dy, const Tensor& indices,
                                          bool accumulate) const {
    const int64_t n = dtable.dim(1);
    float* rows = dtable.data<float>().data();
    const float* dys = dy.data<float>().data();
    for (const int64_t index : indices.data<int64_t>())
        expect_index("embedding.backward", index, dtable.dim(0));
    if (!accumulate) zero(dtable);
    for (const int64_t index : indices.data<int64_t>()) {
        float* row = rows + index * n;
        for (int64_t i = 0; i < n; ++i) row[i] += dys[i];
        dys += n;
    }
}

void ReferenceKernels::rotary(const Tensor& out, const Tensor& in, const RotaryShape& shape,
                              bool inverse) const {
    const float* ins = in.data<float>().data();
    float* outs = out.data<float>().data();
    const int64_t width = shape.heads * shape.head_dim;
    for (int64_t row = 0; row < shape.batch * shape.tokens; ++row) {
        const int64_t token = row % shape.tokens;
        const int64_t position = shape.positions.defined()
                                     ? shape.positions.data<int64_t>()[static_cast<std::size_t>(token)]
                                     : shape.first_position + token;
        for (int64_t i = 0; i < width; i += 2) {
            const int64_t pair = i % shape.head_dim / 2;
            const double angle = static_cast<double>(position) *
                                 rotary_frequency(shape.theta, shape.head_dim, shape.scaling, pair);
            const double c = std::cos(angle);
            const double s = inverse ? -std::sin(angle) : std::sin(angle);
            const int64_t first = row * width + (shape.halves ? i - pair : i);
            const int64_t second = first + (shape.halves ? shape.head_dim / 2 : 1);
            const double a = ins[first];
            const double b = ins[second];
            outs[first] = static_cast<float>(a * c - b * s);
            outs[second] = static_cast<float>(a * s + b * c);
        }
    }
}

void ReferenceKernels::cross_entropy_forward(const Tensor& loss, const Tensor& lse, const Tensor& logits,
                                             const Tensor& targets, double divisor) const {
    const int64_t classes = times(targets.n_elements(), logits.n_elements());
    const auto wanted = targets.data<int64_t>();
    double sum = 0.0;
    for (std::size_t r = 0; r < wanted.size(); ++r) {
        expect_target("cross_entropy", wanted[r], classes);
        const auto row = logits.data<float>().subspan(r * static_cast<std::size_t>(classes),
                                                      static_cast<std::size_t>(classes));
        // The largest is taken out first, or exp would overflow.
        const double largest = *std::ranges::max_element(row);
        double total = 0.0;
        for (const float x : row) total += std::exp(x - largest);
        const double log_sum = largest + std::log(total);
        lse.data<float>()[r] = static_cast<float>(log_sum);
        if (wanted[r] != kIgnoredTarget) sum += log_sum - row[static_cast<std::size_t>(wanted[r])];
    }
    loss.data<float>()[0] = static_cast<float>(sum / divisor);
}

void ReferenceKernels::cross_entropy_backward(const Tensor& dlogits, const Tensor& dloss,
                                              const Tensor& logits, const Tensor& lse, const Tensor& targets,
                                              double divisor) const {
    const int64_t classes = times(targets.n_elements(), logits.n_elements());
    const auto wanted = targets.data<int64_t>();
    const double factor = dloss.data<float>()[0] / divisor;
    const float* xs = logits.data<float>().data();
    float* ds = dlogits.data<float>().data();
    for (std::size_t r = 0; r < wanted.size(); ++r) {
        expect_target("cross_entropy.backward", wanted[r], classes);
        const bool counts = wanted[r] != kIgnoredTarget;
        const double log_sum = lse.data<float>()[r];
        for (int64_t c = 0; c < classes; ++c) {
            const double d = std::exp(xs[c] - log_sum) - (c == wanted[r] ? 1.0 : 0.0);
            ds[c] = counts ? static_cast<float>(d * factor) : 0.0F;
        }
        xs += classes;
        ds += classes;
    }
}

}  // namespace meshscope::tensor
