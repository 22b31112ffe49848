// FlashAttention-2 (arXiv 2307.08691) on one core: blocks of scores by matrix products, softmax by the vector
// loops.
#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

#include "core/tensor/blas.h"
#include "core/tensor/kernel_parts.h"
#include "core/tensor/kernels_cpu.h"

namespace meshscope::tensor {
namespace {

// A block of scores is at most 64 queries × 512 keys: 128 KiB, half of what a core keeps close.
constexpr int64_t kQueries = 64;
constexpr int64_t kKeys = 512;
constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();

const int64_t* positions(const Tensor& tensor) {
    return tensor.defined() ? tensor.data<int64_t>().data() : nullptr;
}

/// The next multiple of 16: rows of scores are so far apart and are filled up to there, so the vector loops
/// meet whole vectors only.
int64_t padded(int64_t n) {
    return (n + 15) / 16 * 16;
}

/// Uninitialised scratch for one block of scores.
std::unique_ptr<float[]> scratch(const AttentionShape& shape) {
    return std::make_unique_for_overwrite<float[]>(static_cast<std::size_t>(
        std::min(kQueries, shape.q_tokens) * padded(std::min(kKeys, shape.k_tokens))));
}

/// One block of scores: queries [q0, q0 + rows) of a head against keys [k0, k0 + columns).
struct Span {
    int64_t q0 = 0;
    int64_t rows = 0;
    int64_t k0 = 0;
    int64_t columns = 0;  ///< 0: no query of the block sees a key of it

    int64_t stride() const { return padded(columns); }
};

/// Which keys each query sees.
class Mask {
  public:
    explicit Mask(const AttentionShape& shape)
        : shape_(shape), q_at_(positions(shape.q_positions)), k_at_(positions(shape.k_positions)) {}

    /// The block without keys at its end that none of its queries sees; of a window also without all of them
    /// where they lie before every query's.
    Span cut(int64_t q0, int64_t k0) const {
        Span span{q0, std::min(kQueries, shape_.q_tokens - q0), k0, std::min(kKeys, shape_.k_tokens - k0)};
        if (!shape_.causal) return span;
        int64_t first = q_position(q0), last = first;
        for (int64_t q = q0 + 1; q < q0 + span.rows; ++q) {
            first = std::min(first, q_position(q));
            last = std::max(last, q_position(q));
        }
        while (span.columns > 0 && k_position(k0 + span.columns - 1) > last) --span.columns;
        if (shape_.window == 0) return span;
        bool any = false;
        for (int64_t k = k0; k < k0 + span.columns && !any; ++k) any = k_position(k) > first - shape_.window;
        if (!any) span.columns = 0;
        return span;
    }

    /// How many keys of the block, counted from its first, hold all those that row r sees; those among them
    /// that it does not see get the score -∞.
    int64_t apply(const Span& span, int64_t r, float* scores) const {
        if (!shape_.causal) return span.columns;
        const int64_t last = q_position(span.q0 + r);
        if (k_at_ == nullptr && shape_.window == 0)
            return std::clamp<int64_t>(last + 1 - span.k0, 0, span.columns);
        const int64_t first =
            shape_.window == 0 ? std::numeric_limits<int64_t>::min() : last + 1 - shape_.window;
        int64_t seen = span.columns;
        while (seen > 0 && k_position(span.k0 + seen - 1) > last) --seen;
        for (int64_t j = 0; j < seen; ++j) {
            const int64_t key = k_position(span.k0 + j);
            if (key > last || key < first) scores[j] = kMinusInfinity;
        }
        return seen;
    }

    /// What products of the block's scores may leave out: where positions are the places themselves, no query
    /// sees a key behind it.
    Lower lower(const Span& span, Lower::Matrix matrix) const {
        if (!shape_.causal || q_at_ != nullptr || k_at_ != nullptr) return {};
        return {matrix, span.q0 - span.k0};
    }

  private:
    int64_t q_position(int64_t q) const { return q_at_ == nullptr ? q : q_at_[q]; }
    int64_t k_position(int64_t k) const { return k_at_ == nullptr ? k : k_at_[k]; }

    const AttentionShape& shape_;
    const int64_t* q_at_;
    const int64_t* k_at_;
};

/// Where a head's rows begin, and how far apart they are.
struct Head {
    Head(const AttentionShape& shape, int64_t b, int64_t h)
        : query_stride(shape.heads * shape.head_dim),
          key_stride(shape.kv_heads * shape.head_dim),
          query(b * shape.q_tokens * query_stride + h * shape.head_dim),
          key(b * shape.k_tokens * key_stride + h / (shape.heads / shape.kv_heads) * shape.head_dim),
          lse((b * shape.heads + h) * shape.q_tokens) {}

    int64_t query_stride;
    int64_t key_stride;
    int64_t query;  ///< offset of the head's first row in q, o, …
    int64_t key;    ///< in k, v, …
    int64_t lse;    ///< offset in lse
};

}  // namespace

void CpuKernels::attention_forward(const Tensor& o, const Tensor& lse, const Tensor& q, const Tensor& k,
                                   const Tensor& v, const AttentionShape& shape) const {
    const int64_t n = shape.head_dim;
    const Mask mask(shape);
    // Asked for once: what a tensor lies on is checked each time.
    float *const o_numbers = numbers(o), *const lse_numbers = numbers(lse);
    const float *const q_numbers = numbers(q), *const k_numbers = numbers(k), *const v_numbers = numbers(v);
    const auto scores = scratch(shape);
    float sums[kQueries];  // of e^(score - largest) of each query so far

    const auto block = [&](const Head& head, const Span& span, bool first) {
        const Block q_block{q_numbers + head.query + span.q0 * head.query_stride, head.query_stride};
        const Block k_block{k_numbers + head.key + span.k0 * head.key_stride, head.key_stride};
        const Block v_block{v_numbers + head.key + span.k0 * head.key_stride, head.key_stride};
        float* out = o_numbers + head.query + span.q0 * head.query_stride;
        float* largest = lse_numbers + head.lse + span.q0;  // holds the running maximum until the end
        block_product(false, true, span.rows, span.columns, n, static_cast<float>(shape.scale), q_block,
                      k_block, 0.0F, scores.get(), span.stride(), mask.lower(span, Lower::Matrix::result));
        for (int64_t r = 0; r < span.rows; ++r) {
            float* row = scores.get() + r * span.stride();
            const int64_t seen = mask.apply(span, r, row);
            float sum = 0.0F;
            const float now = loops_->softmax_row(row, largest[r], &sum, seen, span.stride());
            const float fade = largest[r] == kMinusInfinity ? 0.0F : std::exp(largest[r] - now);
            sums[r] = sums[r] * fade + sum;
            if (!first && fade != 1.0F) loops_->scale(out + r * head.query_stride, fade, n);
            largest[r] = now;
        }
        block_product(false, false, span.rows, n, span.columns, 1.0F, {scores.get(), span.stride()}, v_block,
                      first ? 0.0F : 1.0F, out, head.query_stride, mask.lower(span, Lower::Matrix::left));
    };

    for (int64_t b = 0; b < shape.batch; ++b) {
        for (int64_t h = 0; h < shape.heads; ++h) {
            const Head head(shape, b, h);
            for (int64_t q0 = 0; q0 < shape.q_tokens; q0 += kQueries) {
                const int64_t rows = std::min(kQueries, shape.q_tokens - q0);
                float* out = o_numbers + head.query + q0 * head.query_stride;
                float* log_sums = lse_numbers + head.lse + q0;
                std::fill_n(sums, rows, 0.0F);
                std::fill_n(log_sums, rows, kMinusInfinity);
                bool first = true;
                for (int64_t k0 = 0; k0 < shape.k_tokens; k0 += kKeys) {
                    const Span span = mask.cut(q0, k0);
                    if (span.columns == 0) continue;
                    block(head, span, first);
                    first = false;
                }
                for (int64_t r = 0; r < rows; ++r) {
                    float* row = out + r * head.query_stride;
                    if (sums[r] == 0.0F)
                        std::fill_n(row, n, 0.0F);
                    else
                        loops_->scale(row, 1.0F / sums[r], n);
                    log_sums[r] += std::log(sums[r]);
                }
            }
        }
    }
}

void CpuKernels::attention_merge(const Tensor& o, const Tensor& lse, const Tensor& block_o,
                                 const Tensor& block_lse, const AttentionShape& shape) const {
    float *const o_numbers = numbers(o), *const lse_numbers = numbers(lse);
    const float *const block_o_numbers = numbers(block_o), *const block_lse_numbers = numbers(block_lse);
    for (int64_t b = 0; b < shape.batch; ++b) {
        for (int64_t h = 0; h < shape.heads; ++h) {
            const Head head(shape, b, h);
            for (int64_t t = 0; t < shape.q_tokens; ++t) {
                float& old_sum = lse_numbers[head.lse + t];
                const float block_sum = block_lse_numbers[head.lse + t];
                if (block_sum == kMinusInfinity) continue;
                const float largest = std::max(old_sum, block_sum);
                const float both =
                    largest + std::log(std::exp(old_sum - largest) + std::exp(block_sum - largest));
                const int64_t at = head.query + t * head.query_stride;
                loops_->scale(o_numbers + at, std::exp(old_sum - both), shape.head_dim);
                loops_->axpy(o_numbers + at, std::exp(block_sum - both), block_o_numbers + at,
                             shape.head_dim);
                old_sum = both;
            }
        }
    }
}

void CpuKernels::attention_backward(const Tensor& dq, const Tensor& dk, const Tensor& dv, const Tensor& dout,
                                    const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& o,
                                    const Tensor& lse, const AttentionShape& shape) const {
    const int64_t n = shape.head_dim;
    const auto scale = static_cast<float>(shape.scale);
    const Mask mask(shape);
    float *const dq_numbers = numbers(dq), *const dk_numbers = numbers(dk), *const dv_numbers = numbers(dv);
    const float *const dout_numbers = numbers(dout), *const q_numbers = numbers(q),
                       *const k_numbers = numbers(k), *const v_numbers = numbers(v),
                       *const o_numbers = numbers(o), *const lse_numbers = numbers(lse);
    const auto p_scratch = scratch(shape);
    const auto ds_scratch = scratch(shape);
    float* const p = p_scratch.get();
    float* const ds = ds_scratch.get();
    float deltas[kQueries];  // Σ dout · o of each query
    for (const Tensor& grad : {dq, dk, dv}) zero(grad);

    const auto block = [&](const Head& head, const Span& span) {
        const int64_t at_q = head.query + span.q0 * head.query_stride;
        const int64_t at_k = head.key + span.k0 * head.key_stride;
        const Block q_block{q_numbers + at_q, head.query_stride};
        const Block dout_block{dout_numbers + at_q, head.query_stride};
        const Block k_block{k_numbers + at_k, head.key_stride};
        const Block v_block{v_numbers + at_k, head.key_stride};
        const float* log_sums = lse_numbers + head.lse + span.q0;
        const auto [q0, rows, k0, columns] = span;
        const int64_t stride = span.stride();
        const Lower wanted = mask.lower(span, Lower::Matrix::result);
        const Lower seen_only = mask.lower(span, Lower::Matrix::left);
        block_product(false, true, rows, columns, n, scale, q_block, k_block, 0.0F, p, stride, wanted);
        block_product(false, true, rows, columns, n, 1.0F, dout_block, v_block, 0.0F, ds, stride, wanted);
        for (int64_t r = 0; r < rows; ++r) {
            float* p_row = p + r * stride;
            float* ds_row = ds + r * stride;
            // A row that saw no key at all has no gradient (its lse is -∞).
            const int64_t seen = log_sums[r] == kMinusInfinity ? 0 : mask.apply(span, r, p_row);
            loops_->softmax_backward(p_row, ds_row, log_sums[r], deltas[r], scale, seen, stride);
        }
        const Block p_block{p, stride};
        const Block ds_block{ds, stride};
        block_product(true, false, columns, n, rows, 1.0F, p_block, dout_block, 1.0F, dv_numbers + at_k,
                      head.key_stride, seen_only);
        block_product(true, false, columns, n, rows, 1.0F, ds_block, q_block, 1.0F, dk_numbers + at_k,
                      head.key_stride, seen_only);
        block_product(false, false, rows, n, columns, 1.0F, ds_block, k_block, 1.0F, dq_numbers + at_q,
                      head.query_stride, seen_only);
    };

    for (int64_t b = 0; b < shape.batch; ++b) {
        for (int64_t h = 0; h < shape.heads; ++h) {
            const Head head(shape, b, h);
            for (int64_t q0 = 0; q0 < shape.q_tokens; q0 += kQueries) {
                for (int64_t r = 0; r < std::min(kQueries, shape.q_tokens - q0); ++r) {
                    const int64_t at = head.query + (q0 + r) * head.query_stride;
                    deltas[r] = loops_->dot(dout_numbers + at, o_numbers + at, n);
                }
                for (int64_t k0 = 0; k0 < shape.k_tokens; k0 += kKeys) {
                    const Span span = mask.cut(q0, k0);
                    if (span.columns > 0) block(head, span);
                }
            }
        }
    }
}

}  // namespace meshscope::tensor
