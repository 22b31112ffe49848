// Attention as its formula reads, one row of scores at a time.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "core/tensor/kernel_parts.h"
#include "core/tensor/kernels_reference.h"

namespace meshscope::tensor {
namespace {

constexpr double kMinusInfinity = -std::numeric_limits<double>::infinity();

double dot(const float* a, const float* b, int64_t n) {
    double sum = 0.0;
    for (int64_t i = 0; i < n; ++i) sum += static_cast<double>(a[i]) * b[i];
    return sum;
}

/// Where the rows of one head stand in (batch, tokens, heads · head_dim).
struct Rows {
    const AttentionShape& shape;

    int64_t query(int64_t b, int64_t h, int64_t t) const {
        return ((b * shape.q_tokens + t) * shape.heads + h) * shape.head_dim;
    }
    int64_t key(int64_t b, int64_t h, int64_t t) const {
        const int64_t kv_head = h / (shape.heads / shape.kv_heads);
        return ((b * shape.k_tokens + t) * shape.kv_heads + kv_head) * shape.head_dim;
    }
    int64_t lse(int64_t b, int64_t h, int64_t t) const { return (b * shape.heads + h) * shape.q_tokens + t; }
    bool sees(int64_t q, int64_t k) const {
        const auto at = [](const Tensor& positions, int64_t t) {
            return positions.defined() ? positions.data<int64_t>()[static_cast<std::size_t>(t)] : t;
        };
        if (!shape.causal) return true;
        const int64_t before = at(shape.q_positions, q) - at(shape.k_positions, k);
        return before >= 0 && (shape.window == 0 || before < shape.window);
    }
};

/// Calls f(batch, head, query token) for every row of scores, heads first to last.
template <class F>
void for_each_row(const AttentionShape& shape, const F& f) {
    for (int64_t b = 0; b < shape.batch; ++b)
        for (int64_t h = 0; h < shape.heads; ++h)
            for (int64_t t = 0; t < shape.q_tokens; ++t) f(b, h, t);
}

}  // namespace

void ReferenceKernels::attention_forward(const Tensor& o, const Tensor& lse, const Tensor& q, const Tensor& k,
                                         const Tensor& v, const AttentionShape& shape) const {
    const Rows rows{shape};
    const int64_t n = shape.head_dim;
    const float* qs = q.data<float>().data();
    const float* ks = k.data<float>().data();
    const float* vs = v.data<float>().data();
    float* os = o.data<float>().data();
    float* lses = lse.data<float>().data();
    std::vector<double> scores(static_cast<std::size_t>(shape.k_tokens));
    std::vector<double> sums(static_cast<std::size_t>(n));
    for_each_row(shape, [&](int64_t b, int64_t h, int64_t t) {
        double largest = kMinusInfinity;
        for (int64_t j = 0; j < shape.k_tokens; ++j) {
            double& score = scores[static_cast<std::size_t>(j)];
            score = kMinusInfinity;
            if (rows.sees(t, j))
                score = shape.scale * dot(qs + rows.query(b, h, t), ks + rows.key(b, h, j), n);
            largest = std::max(largest, score);
        }
        std::ranges::fill(sums, 0.0);
        double total = 0.0;
        for (int64_t j = 0; j < shape.k_tokens; ++j) {
            if (!rows.sees(t, j)) continue;
            const double p = std::exp(scores[static_cast<std::size_t>(j)] - largest);
            total += p;
            for (int64_t i = 0; i < n; ++i)
                sums[static_cast<std::size_t>(i)] += p * vs[rows.key(b, h, j) + i];
        }
        // Where no key is seen the sums stay 0, and 0/0 would be NaN.
        for (int64_t i = 0; i < n; ++i)
            os[rows.query(b, h, t) + i] =
                total == 0.0 ? 0.0F : static_cast<float>(sums[static_cast<std::size_t>(i)] / total);
        lses[rows.lse(b, h, t)] = static_cast<float>(largest + std::log(total));
    });
}

void ReferenceKernels::attention_merge(const Tensor& o, const Tensor& lse, const Tensor& block_o,
                                       const Tensor& block_lse, const AttentionShape& shape) const {
    const Rows rows{shape};
    float* os = o.data<float>().data();
    const float* blocks = block_o.data<float>().data();
    for_each_row(shape, [&](int64_t b, int64_t h, int64_t t) {
        const auto at = static_cast<std::size_t>(rows.lse(b, h, t));
        const double old_sum = lse.data<float>()[at], block_sum = block_lse.data<float>()[at];
        const double largest = std::max(old_sum, block_sum);
        if (largest == kMinusInfinity) return;  // no key seen by either
        const double both = largest + std::log(std::exp(old_sum - largest) + std::exp(block_sum - largest));
        const double keep = std::exp(old_sum - both), take = std::exp(block_sum - both);
        for (int64_t i = rows.query(b, h, t); i < rows.query(b, h, t) + shape.head_dim; ++i)
            os[i] = static_cast<float>(keep * os[i] + take * blocks[i]);
        lse.data<float>()[at] = static_cast<float>(both);
    });
}

void ReferenceKernels::attention_backward(const Tensor& dq, const Tensor& dk, const Tensor& dv,
                                          const Tensor& dout, const Tensor& q, const Tensor& k,
                                          const Tensor& v, const Tensor& o, const Tensor& lse,
                                          const AttentionShape& shape) const {
    const Rows rows{shape};
    const int64_t n = shape.head_dim;
    const float* qs = q.data<float>().data();
    const float* ks = k.data<float>().data();
    const float* vs = v.data<float>().data();
    const float* douts = dout.data<float>().data();
    std::vector<double> dqs(static_cast<std::size_t>(q.n_elements()));
    std::vector<double> dks(static_cast<std::size_t>(k.n_elements()));
    std::vector<double> dvs(static_cast<std::size_t>(k.n_elements()));
    for_each_row(shape, [&](int64_t b, int64_t h, int64_t t) {
        const int64_t query = rows.query(b, h, t);
        const double delta = dot(douts + query, o.data<float>().data() + query, n);
        const double log_sum = lse.data<float>()[static_cast<std::size_t>(rows.lse(b, h, t))];
        for (int64_t j = 0; j < shape.k_tokens; ++j) {
            if (!rows.sees(t, j)) continue;
            const int64_t key = rows.key(b, h, j);
            const double p = std::exp(shape.scale * dot(qs + query, ks + key, n) - log_sum);
            const double ds = shape.scale * p * (dot(douts + query, vs + key, n) - delta);
            for (int64_t i = 0; i < n; ++i) {
                dqs[static_cast<std::size_t>(query + i)] += ds * ks[key + i];
                dks[static_cast<std::size_t>(key + i)] += ds * qs[query + i];
                dvs[static_cast<std::size_t>(key + i)] += p * douts[query + i];
            }
        }
    });
    const auto round = [](double x) { return static_cast<float>(x); };
    std::ranges::transform(dqs, dq.data<float>().begin(), round);
    std::ranges::transform(dks, dk.data<float>().begin(), round);
    std::ranges::transform(dvs, dv.data<float>().begin(), round);
}

}  // namespace meshscope::tensor
