#pragma once

// The matrix product of core/tensor/vector_loops.h for small matrices. Included by vector_loops_body.h only.

#include "core/tensor/vector_lanes.h"
#include "core/tensor/vector_loops.h"

namespace meshscope::tensor {
namespace {

/// Rows of C that are summed up in registers at once, two vectors of columns each.
constexpr int64_t kTileRows = kWidth == 16 ? 8 : 4;

/// Where op(A)'s element (i, l) lies.
struct Left {
    const float* data;
    int64_t row_step;
    int64_t depth_step;
};

/// What of a product the rows of one tile need.
struct Need {
    int64_t columns;       ///< of C, the first ones
    int64_t first, depth;  ///< the sum's terms [first, depth)
};

/// For rows [row, row + rows) of C.
inline Need need(const SmallProduct& p, int64_t row, int64_t rows) {
    const auto within = [](int64_t value, int64_t most) {
        return value < 0 ? 0 : value < most ? value : most;
    };
    Need all{p.n, 0, p.k};
    if (p.lower.matrix == Lower::Matrix::result) {
        const int64_t wanted = row + rows + p.lower.diagonal;
        all.columns =
            within((wanted + kWidth - 1) / kWidth * kWidth, p.n);  // whole vectors are written faster
    } else if (p.lower.matrix == Lower::Matrix::left) {
        if (p.transpose_a)
            all.first = within(row - p.lower.diagonal, p.k);
        else
            all.depth = within(row + rows + p.lower.diagonal, p.k);
    }
    return all;
}

/// Rows [0, kRows) and `kVectors` vectors of columns of C: `b` holds op(B)'s columns from here on, rows
/// `b_stride` apart; `columns` of them are C's.
template <int64_t kRows, int64_t kVectors>
inline __attribute__((always_inline)) void tile(const Left& a, const float* b, int64_t b_stride,
                                                const Need& need, float alpha, bool adds, float* c,
                                                int64_t c_stride, int64_t columns) {
    // Unrolled, so that the sums stay in registers from the first to the last.
    Floats sums[kRows][kVectors];
#pragma GCC unroll 16
    for (int64_t i = 0; i < kRows * kVectors; ++i) sums[i / kVectors][i % kVectors] = Floats{};
    for (int64_t l = need.first; l < need.depth; ++l) {
        Floats row[kVectors];
#pragma GCC unroll 2
        for (int64_t v = 0; v < kVectors; ++v) row[v] = load(b + l * b_stride + v * kWidth);
#pragma GCC unroll 8
        for (int64_t r = 0; r < kRows; ++r) {
            const Floats factor = all(a.data[r * a.row_step + l * a.depth_step]);
#pragma GCC unroll 2
            for (int64_t v = 0; v < kVectors; ++v) sums[r][v] = sums[r][v] + factor * row[v];
        }
    }
#pragma GCC unroll 16
    for (int64_t i = 0; i < kRows * kVectors; ++i) {
        const int64_t r = i / kVectors, v = i % kVectors;
        float* const to = c + r * c_stride + v * kWidth;
        const int64_t real = columns - v * kWidth;
        Floats value = sums[r][v] * alpha;
        if (real >= kWidth) {
            store(to, adds ? value + load(to) : value);
        } else {
            if (adds) value = value + load_part(to, real, 0.0F);
            store_part(to, value, real);
        }
    }
}

template <int64_t kRows>
inline __attribute__((always_inline)) void tiles(const Left& a, const float* b, int64_t b_stride,
                                                 const SmallProduct& p, const Need& need, float* c) {
    int64_t column = 0;
    for (; column + kWidth < need.columns; column += 2 * kWidth)
        tile<kRows, 2>(a, b + column, b_stride, need, p.alpha, p.adds, c + column, p.c_stride, p.n - column);
    if (column < need.columns)
        tile<kRows, 1>(a, b + column, b_stride, need, p.alpha, p.adds, c + column, p.c_stride, p.n - column);
}

typedef float Four __attribute__((vector_size(16)));

/// to[l · to_stride + j] = from[j · from_stride + l] for 4 × 4 numbers.
inline __attribute__((always_inline)) void turn_four(float* to, int64_t to_stride, const float* from,
                                                     int64_t from_stride) {
    Four in[4], out[4];
    for (int64_t j = 0; j < 4; ++j) __builtin_memcpy(&in[j], from + j * from_stride, sizeof in[j]);
    const Four low01 = __builtin_shufflevector(in[0], in[1], 0, 4, 1, 5);
    const Four high01 = __builtin_shufflevector(in[0], in[1], 2, 6, 3, 7);
    const Four low23 = __builtin_shufflevector(in[2], in[3], 0, 4, 1, 5);
    const Four high23 = __builtin_shufflevector(in[2], in[3], 2, 6, 3, 7);
    out[0] = __builtin_shufflevector(low01, low23, 0, 1, 4, 5);
    out[1] = __builtin_shufflevector(low01, low23, 2, 3, 6, 7);
    out[2] = __builtin_shufflevector(high01, high23, 0, 1, 4, 5);
    out[3] = __builtin_shufflevector(high01, high23, 2, 3, 6, 7);
    for (int64_t l = 0; l < 4; ++l) __builtin_memcpy(to + l * to_stride, &out[l], sizeof out[l]);
}

/// The same for n × k numbers.
void turn(float* to, int64_t to_stride, const float* from, int64_t from_stride, int64_t n, int64_t k) {
    int64_t j = 0;
    for (; j + 4 <= n; j += 4) {
        int64_t l = 0;
        for (; l + 4 <= k; l += 4)
            turn_four(to + l * to_stride + j, to_stride, from + j * from_stride + l, from_stride);
        for (; l < k; ++l)
            for (int64_t i = j; i < j + 4; ++i) to[l * to_stride + i] = from[i * from_stride + l];
    }
    for (; j < n; ++j)
        for (int64_t l = 0; l < k; ++l) to[l * to_stride + j] = from[j * from_stride + l];
}

void small_product(const SmallProduct& p) {
    // op(B) in whole vectors, so that only C has tails.
    float packed[SmallProduct::kMostPacked];
    const int64_t stride = (p.n + 2 * kWidth - 1) / (2 * kWidth) * (2 * kWidth);
    const float* b = p.b;
    int64_t b_stride = p.b_stride;
    if (p.transpose_b || p.n % kWidth != 0) {
        for (int64_t l = 0; l < p.k; ++l)
            for (int64_t j = p.n; j < stride; ++j) packed[l * stride + j] = 0.0F;
        if (p.transpose_b) {
            turn(packed, stride, p.b, p.b_stride, p.n, p.k);
        } else {
            for (int64_t l = 0; l < p.k; ++l)
                for (int64_t j = 0; j < p.n; ++j) packed[l * stride + j] = p.b[l * p.b_stride + j];
        }
        b = packed;
        b_stride = stride;
    }
    const int64_t row_step = p.transpose_a ? 1 : p.a_stride;
    const int64_t depth_step = p.transpose_a ? p.a_stride : 1;
    int64_t row = 0;
    for (; row + kTileRows <= p.m; row += kTileRows)
        tiles<kTileRows>({p.a + row * row_step, row_step, depth_step}, b, b_stride, p,
                         need(p, row, kTileRows), p.c + row * p.c_stride);
    for (; row < p.m; ++row)
        tiles<1>({p.a + row * row_step, row_step, depth_step}, b, b_stride, p, need(p, row, 1),
                 p.c + row * p.c_stride);
}

}  // namespace
}  // namespace meshscope::tensor
