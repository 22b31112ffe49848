#pragma once

// Attention that holds no score matrix: FlashAttention-2 (arXiv 2307.08691) with float32 sums. A block is
// four warps and works on 16 rows, four a warp (forward and dq: queries; dkdv: keys). It takes the other side
// in tiles of up to 32, one a lane: each lane computes four scores of its own tile row, the warp shares the
// probabilities through shared memory, and each lane sums its own columns of the result (lane, lane + 32, …).
// No two blocks write the same place, and each sum runs over the tiles in their order: the same bits again.

#include "backends/cuda/kernels/elements.h"

namespace meshscope::gpu {

constexpr int kRows = MESHSCOPE_ATTENTION_ROWS;
constexpr int kWarpRows = kRows / 4;

/// The dynamic shared memory, in floats: two tiles, whose rows are one float longer than a head (lanes read
/// one below another, without bank conflicts), two sets of a block's rows, and two sets of 16 × 32
/// probabilities. host: attention_shared_bytes() in gpu_launch.h.
struct AttentionShared {
    float *tile_a, *tile_b, *rows_a, *rows_b, *p, *ds;
    int64_t width; /* of a tile's row */

    __device__ AttentionShared(float* memory, int64_t head_dim, int32_t tile) {
        width = head_dim + 1;
        tile_a = memory;
        tile_b = tile_a + tile * width;
        rows_a = tile_b + tile * width;
        rows_b = rows_a + kRows * head_dim;
        p = rows_b + kRows * head_dim;
        ds = p + kRows * 32;
    }
};

/// Where the rows of one head stand in (batch, tokens, heads · head_dim), and which keys a query sees.
struct AttentionPlace {
    const MeshscopeAttention& s;

    __device__ int64_t query(int64_t b, int64_t h, int64_t t) const {
        return ((b * s.q_tokens + t) * s.heads + h) * s.head_dim;
    }
    __device__ int64_t key(int64_t b, int64_t kv, int64_t t) const {
        return ((b * s.k_tokens + t) * s.kv_heads + kv) * s.head_dim;
    }
    __device__ int64_t lse(int64_t b, int64_t h, int64_t t) const {
        return (b * s.heads + h) * s.q_tokens + t;
    }
    __device__ bool sees(int64_t q, int64_t k) const {
        if (s.causal == 0) return true;
        const int64_t q_at = s.q_positions == nullptr ? q : s.q_positions[q];
        const int64_t k_at = s.k_positions == nullptr ? k : s.k_positions[k];
        return k_at <= q_at && (s.window == 0 || q_at - k_at < s.window);
    }
    /// Whether tiles can be skipped by their place alone.
    __device__ bool in_order() const {
        return s.causal != 0 && s.q_positions == nullptr && s.k_positions == nullptr;
    }
    /// Whether keys up to `last_key` lie before the windows of all queries from `first_query` on.
    __device__ bool before_window(int64_t last_key, int64_t first_query) const {
        return in_order() && s.window > 0 && last_key <= first_query - s.window;
    }
};

/// Copies `n` rows of a head into shared memory as floats; rows from `end` on become zero. `at(t)` is where
/// row t stands.
template <class T, class At>
__device__ inline void load_rows(float* to, int64_t to_width, const void* from, int64_t first, int64_t n,
                                 int64_t end, int64_t head_dim, const At& at) {
    for (int64_t i = threadIdx.x; i < n * head_dim; i += blockDim.x) {
        const int64_t r = i / head_dim, c = i % head_dim;
        to[r * to_width + c] = first + r < end ? load(in<T>(from)[at(first + r) + c]) : 0.0F;
    }
}

/// dots[r] = row r of this warp · this lane's row of the tile.
__device__ inline void dot_rows(float (&dots)[kWarpRows], const float* rows, const float* tile_row,
                                int64_t head_dim) {
    for (int r = 0; r < kWarpRows; ++r) dots[r] = 0.0F;
    for (int64_t i = 0; i < head_dim; ++i) {
        const float x = tile_row[i];
        for (int r = 0; r < kWarpRows; ++r) dots[r] += rows[r * head_dim + i] * x;
    }
}

/// sums[r][c] += Σ over the tile of weights[r][j] · tile[j][lane + 32 c], j = 0 first.
template <int kColumns>
__device__ inline void add_weighted(float (&sums)[kWarpRows][kColumns], const float* weights,
                                    const float* tile, int64_t tile_width, int32_t n, int64_t head_dim,
                                    int lane) {
    for (int32_t j = 0; j < n; ++j)
        for (int c = 0; c < kColumns; ++c) {
            const int64_t column = lane + 32 * c;
            if (column >= head_dim) break;
            const float x = tile[j * tile_width + column];
            for (int r = 0; r < kWarpRows; ++r) sums[r][c] += weights[r * 32 + j] * x;
        }
}

template <class T, int kColumns>
__device__ inline void write_row(void* to, int64_t at, const float (&sums)[kColumns], float factor,
                                 int64_t head_dim, int lane) {
    for (int c = 0; c < kColumns; ++c)
        if (lane + 32 * c < head_dim) out<T>(to)[at + lane + 32 * c] = store<T>(sums[c] * factor);
}

template <class T, int kColumns>
__global__ void attention(MeshscopeAttention p) {
    MESHSCOPE_DYNAMIC_SHARED(memory);
    const AttentionShared shared(memory, p.head_dim, p.tile);
    const AttentionPlace place{p};
    const int lane = static_cast<int>(threadIdx.x % 32),
              row0 = static_cast<int>(threadIdx.x / 32) * kWarpRows;
    const int64_t b = blockIdx.z, h = blockIdx.y, kv = h / (p.heads / p.kv_heads);
    const int64_t first = static_cast<int64_t>(blockIdx.x) * kRows;
    load_rows<T>(shared.rows_a, p.head_dim, p.q, first, kRows, p.q_tokens, p.head_dim,
                 [&](int64_t t) { return place.query(b, h, t); });
    float largest[kWarpRows], total[kWarpRows], sums[kWarpRows][kColumns];
    for (int r = 0; r < kWarpRows; ++r) {
        largest[r] = minus_infinity();
        total[r] = 0.0F;
        for (int c = 0; c < kColumns; ++c) sums[r][c] = 0.0F;
    }
    for (int64_t tile = 0; tile < p.k_tokens; tile += p.tile) {
        if (place.in_order() && tile > first + kRows - 1) break;  // the same for the whole block
        if (place.before_window(tile + p.tile - 1, first)) continue;
        __syncthreads();
        const auto at_key = [&](int64_t t) { return place.key(b, kv, t); };
        load_rows<T>(shared.tile_a, shared.width, p.k, tile, p.tile, p.k_tokens, p.head_dim, at_key);
        load_rows<T>(shared.tile_b, shared.width, p.v, tile, p.tile, p.k_tokens, p.head_dim, at_key);
        __syncthreads();
        float scores[kWarpRows];
        const int in_tile = lane < p.tile ? lane : 0;
        dot_rows(scores, shared.rows_a + row0 * p.head_dim, shared.tile_a + in_tile * shared.width,
                 p.head_dim);
        const int64_t key = tile + lane;
        for (int r = 0; r < kWarpRows; ++r) {
            const int64_t query = first + row0 + r;
            const bool seen =
                lane < p.tile && key < p.k_tokens && query < p.q_tokens && place.sees(query, key);
            const float score = seen ? p.scale * scores[r] : minus_infinity();
            const float now = larger(largest[r], warp_max(score));
            const float weight = seen ? expf(score - now) : 0.0F;
            const float keep = largest[r] == minus_infinity() ? 0.0F : expf(largest[r] - now);
            total[r] = total[r] * keep + warp_sum(weight);
            largest[r] = now;
            for (int c = 0; c < kColumns; ++c) sums[r][c] *= keep;
            shared.p[(row0 + r) * 32 + lane] = weight;
        }
        __syncwarp();
        add_weighted<kColumns>(sums, shared.p + row0 * 32, shared.tile_b, shared.width, p.tile, p.head_dim,
                               lane);
    }
    for (int r = 0; r < kWarpRows; ++r) {
        const int64_t query = first + row0 + r;
        if (query >= p.q_tokens) break;
        // Where no key is seen the sums are 0, and 0/0 would be NaN.
        const float factor = total[r] == 0.0F ? 0.0F : 1.0F / total[r];
        write_row<T>(p.o, place.query(b, h, query), sums[r], factor, p.head_dim, lane);
        if (lane == 0) p.lse[place.lse(b, h, query)] = largest[r] + logf(total[r]);
    }
}

/// delta = Σ dout · o of each row, which both kernels of the backward pass need.
template <class T>
__global__ void attention_delta(MeshscopeAttention p) {
    const AttentionPlace place{p};
    each(p.batch * p.heads * p.q_tokens, [&](int64_t n) {
        const int64_t t = n % p.q_tokens, h = n / p.q_tokens % p.heads, b = n / p.q_tokens / p.heads;
        const int64_t at = place.query(b, h, t);
        float sum = 0.0F;
        for (int64_t i = 0; i < p.head_dim; ++i)
            sum += load(in<T>(p.dout)[at + i]) * load(in<T>(p.o_in)[at + i]);
        p.delta[n] = sum;
    });
}

/// dq = scale · Σ over keys of p · (dout · v - delta) · k, with p = e^(scale · q · k - lse) computed again.
template <class T, int kColumns>
__global__ void attention_dq(MeshscopeAttention p) {
    MESHSCOPE_DYNAMIC_SHARED(memory);
    const AttentionShared shared(memory, p.head_dim, p.tile);
    const AttentionPlace place{p};
    const int lane = static_cast<int>(threadIdx.x % 32),
              row0 = static_cast<int>(threadIdx.x / 32) * kWarpRows;
    const int64_t b = blockIdx.z, h = blockIdx.y, kv = h / (p.heads / p.kv_heads);
    const int64_t first = static_cast<int64_t>(blockIdx.x) * kRows;
    const auto at_query = [&](int64_t t) { return place.query(b, h, t); };
    load_rows<T>(shared.rows_a, p.head_dim, p.q, first, kRows, p.q_tokens, p.head_dim, at_query);
    load_rows<T>(shared.rows_b, p.head_dim, p.dout, first, kRows, p.q_tokens, p.head_dim, at_query);
    float sums[kWarpRows][kColumns];
    for (int r = 0; r < kWarpRows; ++r)
        for (int c = 0; c < kColumns; ++c) sums[r][c] = 0.0F;
    for (int64_t tile = 0; tile < p.k_tokens; tile += p.tile) {
        if (place.in_order() && tile > first + kRows - 1) break;
        if (place.before_window(tile + p.tile - 1, first)) continue;
        __syncthreads();
        const auto at_key = [&](int64_t t) { return place.key(b, kv, t); };
        load_rows<T>(shared.tile_a, shared.width, p.k, tile, p.tile, p.k_tokens, p.head_dim, at_key);
        load_rows<T>(shared.tile_b, shared.width, p.v, tile, p.tile, p.k_tokens, p.head_dim, at_key);
        __syncthreads();
        float scores[kWarpRows], dps[kWarpRows];
        const int in_tile = lane < p.tile ? lane : 0;
        dot_rows(scores, shared.rows_a + row0 * p.head_dim, shared.tile_a + in_tile * shared.width,
                 p.head_dim);
        dot_rows(dps, shared.rows_b + row0 * p.head_dim, shared.tile_b + in_tile * shared.width, p.head_dim);
        const int64_t key = tile + lane;
        for (int r = 0; r < kWarpRows; ++r) {
            const int64_t query = first + row0 + r;
            float ds = 0.0F;
            if (lane < p.tile && key < p.k_tokens && query < p.q_tokens && place.sees(query, key)) {
                const int64_t at = place.lse(b, h, query);
                ds = p.scale * expf(p.scale * scores[r] - p.lse[at]) * (dps[r] - p.delta[at]);
            }
            shared.ds[(row0 + r) * 32 + lane] = ds;
        }
        __syncwarp();
        add_weighted<kColumns>(sums, shared.ds + row0 * 32, shared.tile_a, shared.width, p.tile, p.head_dim,
                               lane);
    }
    for (int r = 0; r < kWarpRows; ++r) {
        const int64_t query = first + row0 + r;
        if (query < p.q_tokens) write_row<T>(p.dq, place.query(b, h, query), sums[r], 1.0F, p.head_dim, lane);
    }
}

/// dv = Σ over queries of p · dout, dk = scale · Σ of p · (dout · v - delta) · q: over the query heads of
/// this key head, first head first, and over the queries of each in tiles.
template <class T, int kColumns>
__global__ void attention_dkdv(MeshscopeAttention p) {
    MESHSCOPE_DYNAMIC_SHARED(memory);
    const AttentionShared shared(memory, p.head_dim, p.tile);
    const AttentionPlace place{p};
    const int lane = static_cast<int>(threadIdx.x % 32),
              row0 = static_cast<int>(threadIdx.x / 32) * kWarpRows;
    const int64_t b = blockIdx.z, kv = blockIdx.y, group = p.heads / p.kv_heads;
    const int64_t first = static_cast<int64_t>(blockIdx.x) * kRows;
    const auto at_key = [&](int64_t t) { return place.key(b, kv, t); };
    load_rows<T>(shared.rows_a, p.head_dim, p.k, first, kRows, p.k_tokens, p.head_dim, at_key);
    load_rows<T>(shared.rows_b, p.head_dim, p.v, first, kRows, p.k_tokens, p.head_dim, at_key);
    float dk[kWarpRows][kColumns], dv[kWarpRows][kColumns];
    for (int r = 0; r < kWarpRows; ++r)
        for (int c = 0; c < kColumns; ++c) dk[r][c] = dv[r][c] = 0.0F;
    for (int64_t h = kv * group; h < (kv + 1) * group; ++h)
        for (int64_t tile = 0; tile < p.q_tokens; tile += p.tile) {
            if (place.in_order() && tile + p.tile - 1 < first) continue;
            if (place.before_window(first + kRows - 1, tile)) continue;
            __syncthreads();
            const auto at_query = [&](int64_t t) { return place.query(b, h, t); };
            load_rows<T>(shared.tile_a, shared.width, p.q, tile, p.tile, p.q_tokens, p.head_dim, at_query);
            load_rows<T>(shared.tile_b, shared.width, p.dout, tile, p.tile, p.q_tokens, p.head_dim, at_query);
            __syncthreads();
            float scores[kWarpRows], dps[kWarpRows];
            const int in_tile = lane < p.tile ? lane : 0;
            dot_rows(scores, shared.rows_a + row0 * p.head_dim, shared.tile_a + in_tile * shared.width,
                     p.head_dim);
            dot_rows(dps, shared.rows_b + row0 * p.head_dim, shared.tile_b + in_tile * shared.width,
                     p.head_dim);
            const int64_t query = tile + lane;
            for (int r = 0; r < kWarpRows; ++r) {
                const int64_t key = first + row0 + r;
                float weight = 0.0F, ds = 0.0F;
                if (lane < p.tile && query < p.q_tokens && key < p.k_tokens && place.sees(query, key)) {
                    const int64_t at = place.lse(b, h, query);
                    weight = expf(p.scale * scores[r] - p.lse[at]);
                    ds = p.scale * weight * (dps[r] - p.delta[at]);
                }
                shared.p[(row0 + r) * 32 + lane] = weight;
                shared.ds[(row0 + r) * 32 + lane] = ds;
            }
            __syncwarp();
            add_weighted<kColumns>(dv, shared.p + row0 * 32, shared.tile_b, shared.width, p.tile, p.head_dim,
                                   lane);
            add_weighted<kColumns>(dk, shared.ds + row0 * 32, shared.tile_a, shared.width, p.tile, p.head_dim,
                                   lane);
        }
    for (int r = 0; r < kWarpRows; ++r) {
        const int64_t key = first + row0 + r;
        if (key >= p.k_tokens) break;
        write_row<T>(p.dk, place.key(b, kv, key), dk[r], 1.0F, p.head_dim, lane);
        write_row<T>(p.dv, place.key(b, kv, key), dv[r], 1.0F, p.head_dim, lane);
    }
}

/// Ring attention's merge of (o, lse) with (q, lse2), a block a row.
__global__ static void attention_merge(MeshscopeAttention p) {
    const AttentionPlace place{p};
    const int64_t t = blockIdx.x, h = blockIdx.y, b = blockIdx.z, n = place.lse(b, h, t);
    const double old_sum = static_cast<double>(p.lse[n]), block_sum_ = static_cast<double>(p.lse2[n]);
    const double largest = old_sum > block_sum_ ? old_sum : block_sum_;
    if (largest == static_cast<double>(minus_infinity())) return;  // no key seen by either
    const double both = largest + log(exp(old_sum - largest) + exp(block_sum_ - largest));
    const auto keep = static_cast<float>(exp(old_sum - both)),
               take = static_cast<float>(exp(block_sum_ - both));
    const int64_t at = place.query(b, h, t);
    for (int64_t i = threadIdx.x; i < p.head_dim; i += blockDim.x) {
        float& o = out<float>(p.o)[at + i];
        o = keep * o + take * in<float>(p.q)[at + i];
    }
    __syncthreads();  // all have read the old lse
    if (threadIdx.x == 0) p.lse[n] = static_cast<float>(both);
}

}  // namespace meshscope::gpu
