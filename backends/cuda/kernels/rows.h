#pragma once

// Sums over columns and over everything, norms, and rotary positions.

#include "backends/cuda/kernels/elements.h"

namespace meshscope::gpu {

/// Two sums over this block's rows of column blockIdx.x · 32 + threadIdx.x, by the eight lanes of
/// threadIdx.y, then over these, 0 first; whole in the lanes with threadIdx.y 0. f(row, column, sums) adds
/// one row's.
template <class F>
__device__ inline void over_rows(const MeshscopeColumns& p, float (&sums)[2], const F& f) {
    MESHSCOPE_SHARED(float, lanes, 2 * 8 * 32);
    const int64_t column = static_cast<int64_t>(blockIdx.x) * 32 + threadIdx.x;
    const int64_t first = static_cast<int64_t>(blockIdx.y) * p.slice_rows;
    const int64_t end = first + p.slice_rows < p.rows ? first + p.slice_rows : p.rows;
    if (column < p.width)
        for (int64_t row = first + threadIdx.y; row < end; row += 8) f(row, column, sums);
    for (unsigned s = 0; s < 2; ++s) lanes[(s * 8 + threadIdx.y) * 32 + threadIdx.x] = sums[s];
    __syncthreads();
    for (unsigned s = 0; s < 2; ++s) {
        sums[s] = 0.0F;
        for (unsigned lane = 0; lane < 8; ++lane) sums[s] += lanes[(s * 8 + lane) * 32 + threadIdx.x];
    }
}

/// Puts a column's two sums down as gradients; the second where out2 is there.
template <class T>
__device__ inline void write_columns(const MeshscopeColumns& p, int64_t column, const float (&sums)[2]) {
    void* const outs[2] = {p.out, p.out2};
    for (int s = 0; s < 2; ++s) {
        if (outs[s] == nullptr) continue;
        T& to = out<T>(outs[s])[column];
        to = gradient<T>(sums[s], to, p.accumulate);
    }
}
/// What a block does with its sums.
template <class T>
__device__ inline void finish_columns(const MeshscopeColumns& p, const float (&sums)[2]) {
    const int64_t column = static_cast<int64_t>(blockIdx.x) * 32 + threadIdx.x;
    if (threadIdx.y != 0 || column >= p.width) return;
    if (p.partial == nullptr) return write_columns<T>(p, column, sums);
    for (int s = 0; s < 2; ++s)
        p.partial[(static_cast<int64_t>(blockIdx.y) * 2 + s) * p.width + column] = sums[s];
}
template <class T>
__global__ void column_total(MeshscopeColumns p) {
    each(p.width, [&](int64_t column) {
        float sums[2] = {0.0F, 0.0F};
        for (int64_t slice = 0; slice < p.slices; ++slice)
            for (int s = 0; s < 2; ++s) sums[s] += p.partial[(slice * 2 + s) * p.width + column];
        write_columns<T>(p, column, sums);
    });
}

template <class T>
__global__ void column_sums(MeshscopeColumns p) {
    float sums[2] = {0.0F, 0.0F};
    over_rows(p, sums, [&](int64_t row, int64_t column, float(&to)[2]) {
        to[0] += load(in<T>(p.dy)[row * p.width + column]);
    });
    finish_columns<T>(p, sums);
}

template <class T>
__global__ void norm_weight(MeshscopeColumns p) {
    float sums[2] = {0.0F, 0.0F};
    over_rows(p, sums, [&](int64_t row, int64_t column, float(&to)[2]) {
        const float dy = load(in<T>(p.dy)[row * p.width + column]);
        const float centre = p.mean == nullptr ? 0.0F : p.mean[row];
        to[0] += dy * ((load(in<T>(p.x)[row * p.width + column]) - centre) * p.rstd[row]);
        to[1] += dy;
    });
    finish_columns<T>(p, sums);
}

template <class T>
__global__ void squares(MeshscopeTotal p) {
    double sum = 0.0;
    each(p.n, [&](int64_t i) {
        const double x = load(in<T>(p.x)[i]);
        sum += x * x;
    });
    sum = block_sum(sum);
    if (threadIdx.x == 0) p.partial[blockIdx.x] = sum;
}
template <class T>
__global__ void squared_error(MeshscopeTotal p) {
    double sum = 0.0;
    each(p.n, [&](int64_t i) {
        const double difference = static_cast<double>(load(in<T>(p.x)[i])) - static_cast<double>(p.target[i]);
        sum += difference * difference;
    });
    sum = block_sum(sum);
    if (threadIdx.x == 0) p.partial[blockIdx.x] = sum;
}
template <class T>
__global__ void total(MeshscopeTotal p) {
    double sum = 0.0;
    each(p.n, [&](int64_t i) { sum += p.partial[i]; });
    sum = block_sum(sum);
    if (threadIdx.x != 0) return;
    if (p.total != nullptr) *p.total = sum;
    if (p.loss != nullptr) *out<T>(p.loss) = store<T>(static_cast<float>(p.factor * sum));
}

/// Calls f(i) for this thread's elements of a row.
template <class F>
__device__ inline void along_row(int64_t width, const F& f) {
    for (int64_t i = threadIdx.x; i < width; i += blockDim.x) f(i);
}

template <class T>
__global__ void layer_norm(MeshscopeNorm p) {
    const int64_t row = blockIdx.x;
    const T* const x = in<T>(p.x) + row * p.width;
    const auto width = static_cast<float>(p.width);
    float sum = 0.0F;
    along_row(p.width, [&](int64_t i) { sum += load(x[i]); });
    const float mean = block_sum(sum) / width;
    float squares_sum = 0.0F;
    along_row(p.width, [&](int64_t i) {
        const float distance = load(x[i]) - mean;
        squares_sum += distance * distance;
    });
    const float rstd = 1.0F / sqrtf(block_sum(squares_sum) / width + static_cast<float>(p.eps));
    along_row(p.width, [&](int64_t i) {
        const float bias = p.bias == nullptr ? 0.0F : load(in<T>(p.bias)[i]);
        const float y = (load(x[i]) - mean) * rstd * load(in<T>(p.weight)[i]) + bias;
        out<T>(p.out)[row * p.width + i] = store<T>(y);
    });
    if (threadIdx.x != 0) return;
    p.mean[row] = mean;
    p.rstd[row] = rstd;
}

/// Both norms' input gradients: with h = (x - centre) · rstd and g = dy · weight, dx = rstd · (g - mean(g) -
/// h · mean(g · h)), the first mean for layer norm only.
template <class T>
__device__ inline void norm_backward(const MeshscopeNorm& p, float centre, bool centred) {
    const int64_t row = blockIdx.x;
    const T* const x = in<T>(p.x) + row * p.width;
    const T* const dy = in<T>(p.dy) + row * p.width;
    const float rstd = p.rstd[row];
    float sum_g = 0.0F, sum_gh = 0.0F;
    along_row(p.width, [&](int64_t i) {
        const float g = load(dy[i]) * load(in<T>(p.weight)[i]);
        sum_g += g;
        sum_gh += g * ((load(x[i]) - centre) * rstd);
    });
    const float mean_g = centred ? block_sum(sum_g) / static_cast<float>(p.width) : 0.0F;
    const float mean_gh = block_sum(sum_gh) / static_cast<float>(p.width);
    along_row(p.width, [&](int64_t i) {
        const float g = load(dy[i]) * load(in<T>(p.weight)[i]);
        const float h = (load(x[i]) - centre) * rstd;
        out<T>(p.out)[row * p.width + i] = store<T>(rstd * (g - mean_g - h * mean_gh));
    });
}
template <class T>
__global__ void layer_norm_backward(MeshscopeNorm p) {
    norm_backward<T>(p, p.mean[blockIdx.x], true);
}
template <class T>
__global__ void rms_norm_backward(MeshscopeNorm p) {
    norm_backward<T>(p, 0.0F, false);
}

template <class T>
__global__ void rms_norm(MeshscopeNorm p) {
    const int64_t row = blockIdx.x;
    const T* const x = in<T>(p.x) + row * p.width;
    float sum = 0.0F;
    along_row(p.width, [&](int64_t i) { sum += load(x[i]) * load(x[i]); });
    const float rstd = 1.0F / sqrtf(block_sum(sum) / static_cast<float>(p.width) + static_cast<float>(p.eps));
    along_row(p.width, [&](int64_t i) {
        out<T>(p.out)[row * p.width + i] = store<T>(load(x[i]) * rstd * load(in<T>(p.weight)[i]));
    });
    if (threadIdx.x == 0) p.rstd[row] = rstd;
}

/// tensor::rotary_frequency().
__device__ inline double rotary_frequency(const MeshscopeRotary& p, int64_t pair) {
    const double plain = pow(p.theta, -static_cast<double>(2 * pair) / static_cast<double>(p.head_dim));
    if (p.scaling == 0) return plain;
    if (p.scaling == 1) return plain / p.factor;
    const double turns = p.original_tokens * plain / 6.283185307179586;
    if (turns < p.low_freq_factor) return plain / p.factor;
    if (turns > p.high_freq_factor) return plain;
    const double share = (turns - p.low_freq_factor) / (p.high_freq_factor - p.low_freq_factor);
    return (1.0 - share) * plain / p.factor + share * plain;
}

/// A thread turns one pair of each head of a token: sine and cosine are the same for all.
template <class T>
__global__ void rotary(MeshscopeRotary p) {
    const int64_t pairs = p.head_dim / 2;
    each(p.batch * p.tokens * pairs, [&](int64_t n) {
        const int64_t row = n / pairs, pair = n % pairs, token = row % p.tokens;
        const int64_t position = p.positions == nullptr ? p.first_position + token : p.positions[token];
        const double angle = static_cast<double>(position) * rotary_frequency(p, pair);
        const int64_t first = p.halves != 0 ? pair : 2 * pair, apart = p.halves != 0 ? pairs : 1;
        const double cosine = cos(angle);
        const double sine = p.inverse != 0 ? -sin(angle) : sin(angle);
        for (int64_t head = 0; head < p.heads; ++head) {
            const int64_t at = (row * p.heads + head) * p.head_dim + first;
            const double a = load(in<T>(p.in)[at]);
            const double b = load(in<T>(p.in)[at + apart]);
            out<T>(p.out)[at] = store<T>(static_cast<float>(a * cosine - b * sine));
            out<T>(p.out)[at + apart] = store<T>(static_cast<float>(a * sine + b * cosine));
        }
    });
}

}  // namespace meshscope::gpu
