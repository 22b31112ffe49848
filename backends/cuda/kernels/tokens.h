#pragma once

// Tables and losses by index, and the optimizers.

#include "backends/cuda/kernels/rows.h"

namespace meshscope::gpu {

/// Notes the first index outside the table, if nothing was noted before: kernels that meet one leave zeros,
/// and the host is told when it next looks.
__global__ static void check_indices(MeshscopeIndices p) {
    MESHSCOPE_SHARED(int64_t, firsts, 256);
    int64_t found = p.n;
    for (int64_t i = threadIdx.x; i < p.n && found == p.n; i += blockDim.x) {
        if (p.may_be_ignored != 0 && p.indices[i] == MESHSCOPE_IGNORED_TARGET) continue;
        if (p.indices[i] < 0 || p.indices[i] >= p.table_rows) found = i;
    }
    firsts[threadIdx.x] = found;
    __syncthreads();
    if (threadIdx.x != 0 || p.note->call != 0) return;
    for (unsigned t = 1; t < blockDim.x; ++t) found = firsts[t] < found ? firsts[t] : found;
    if (found == p.n) return;
    p.note->call = p.call;
    p.note->index = p.indices[found];
}

template <class T>
__global__ void embedding(MeshscopeIndices p) {
    each(p.n * p.width, [&](int64_t i) {
        const int64_t row = p.indices[i / p.width] - p.first;
        const bool here = row >= 0 && row < p.table_rows;
        out<T>(p.y)[i] = here ? in<T>(p.table)[row * p.width + i % p.width] : store<T>(0.0F);
    });
}

/// Block (n, c) is about token n and a stretch of columns. The first token of each table row does that row's
/// sum, over all its tokens, n = 0 first: no two blocks write the same place.
template <class T>
__global__ void embedding_backward(MeshscopeIndices p) {
    const int64_t n = blockIdx.x, index = p.indices[n], row = index - p.first;
    if (row < 0 || row >= p.table_rows) return;
    int is_later = 0;
    for (int64_t i = threadIdx.x; i < n; i += blockDim.x) is_later |= p.indices[i] == index ? 1 : 0;
    if (__syncthreads_or(is_later) != 0) return;
    const int64_t column = static_cast<int64_t>(blockIdx.y) * blockDim.x + threadIdx.x;
    if (column >= p.width) return;
    float sum = 0.0F;
    for (int64_t i = n; i < p.n; ++i)
        if (p.indices[i] == index) sum += load(in<T>(p.table)[i * p.width + column]);
    T& to = out<T>(p.y)[row * p.width + column];
    to = gradient<T>(sum, to, p.accumulate);
}

/// The sum of e^(x - largest) over a row, the same in all threads.
template <class T>
__device__ inline float sum_exp(const T* x, int64_t n, float largest) {
    float sum = 0.0F;
    along_row(n, [&](int64_t i) { sum += expf(load(x[i]) - largest); });
    return block_sum(sum);
}
template <class T>
__device__ inline float max_of_row(const T* x, int64_t n) {
    float largest = minus_infinity();
    along_row(n, [&](int64_t i) { largest = larger(largest, load(x[i])); });
    return block_max(largest);
}

// torch.nn.functional.cross_entropy is log_softmax, whose result is rounded in bfloat16, and nll_loss.
template <class T>
__global__ void cross_entropy(MeshscopeEntropy p) {
    const int64_t row = blockIdx.x;
    const T* const x = in<T>(p.logits) + row * p.classes;
    const float largest = max_of_row(x, p.classes);
    const float sum = sum_exp(x, p.classes, largest);
    if (threadIdx.x != 0) return;
    const double log_sum = static_cast<double>(largest) + log(static_cast<double>(sum));
    p.lse[row] = static_cast<float>(log_sum);
    const int64_t target = p.targets[row];
    double loss = 0.0;
    if (target >= 0 && target < p.classes) {
        loss = log_sum - static_cast<double>(load(x[target]));
        if (sizeof(T) == 2 && p.float_loss == 0)
            loss = static_cast<double>(rounded<T>(static_cast<float>(log_sum) - load(x[target])));
    }
    p.losses[row] = loss;
}

template <class T>
__global__ void cross_entropy_backward(MeshscopeEntropy p) {
    const float dloss = p.float_loss != 0 ? in<float>(p.dloss)[0] : load(in<T>(p.dloss)[0]);
    const auto factor = static_cast<float>(static_cast<double>(dloss) / p.divisor);
    const bool twice = sizeof(T) == 2 && p.whole != 0 && p.float_loss == 0;
    each(p.rows * p.classes, [&](int64_t i) {
        const int64_t row = i / p.classes;
        if (p.targets[row] == MESHSCOPE_IGNORED_TARGET) {
            out<T>(p.dlogits)[i] = store<T>(0.0F);
            return;
        }
        const float log_p = load(in<T>(p.logits)[i]) - p.lse[row];
        const float at_target = i % p.classes == p.targets[row] - p.first ? 1.0F : 0.0F;
        const float d = twice ? (expf(rounded<T>(log_p)) - at_target) * rounded<T>(factor)
                              : (expf(log_p) - at_target) * factor;
        out<T>(p.dlogits)[i] = store<T>(d);
    });
}

template <class T>
__global__ void row_max(MeshscopeEntropy p) {
    const float largest = max_of_row(in<T>(p.logits) + blockIdx.x * p.classes, p.classes);
    if (threadIdx.x == 0) p.largest[blockIdx.x] = largest;
}
template <class T>
__global__ void row_sum_exp(MeshscopeEntropy p) {
    const float sum = sum_exp(in<T>(p.logits) + blockIdx.x * p.classes, p.classes, p.largest[blockIdx.x]);
    if (threadIdx.x == 0) p.sums[blockIdx.x] = sum;
}
template <class T>
__global__ void pick_targets(MeshscopeEntropy p) {
    each(p.rows, [&](int64_t row) {
        const int64_t c = p.targets[row] - p.first;
        p.picked[row] = c >= 0 && c < p.classes ? load(in<T>(p.logits)[row * p.classes + c]) : 0.0F;
    });
}
__global__ static void entropy_of_parts(MeshscopeEntropy p) {
    each(p.rows, [&](int64_t row) {
        const double log_sum = static_cast<double>(p.largest[row]) + log(static_cast<double>(p.sums[row]));
        p.lse[row] = static_cast<float>(log_sum);
        const bool counts = p.targets[row] != MESHSCOPE_IGNORED_TARGET;
        p.losses[row] = counts ? log_sum - static_cast<double>(p.picked[row]) : 0.0;
    });
}

// The optimizers, torch/optim/sgd.py and adam.py: what depends on the step alone was computed by the host in
// double.
__global__ static void sgd(MeshscopeSgd p) {
    each(p.n, [&](int64_t i) {
        float g = p.grad[i] + p.weight_decay * p.value[i];
        if (p.buffer != nullptr) {
            if (p.first == 0) g += p.momentum * p.buffer[i];
            p.buffer[i] = g;
        }
        p.value[i] -= p.lr * g;
    });
}
__global__ static void adam(MeshscopeAdam p) {
    for (int64_t chunk = blockIdx.x; chunk < p.n_chunks; chunk += gridDim.x) {
        int64_t low = 0, high = p.n_parts;  // the last part whose first chunk is not after this one
        while (high - low > 1) {
            const int64_t middle = (low + high) / 2;
            if (p.parts[middle].first_chunk <= chunk)
                low = middle;
            else
                high = middle;
        }
        const MeshscopeAdamPart part = p.parts[low];
        const int64_t first = (chunk - part.first_chunk) * MESHSCOPE_ADAM_CHUNK;
        const int64_t end = first + MESHSCOPE_ADAM_CHUNK < part.n ? first + MESHSCOPE_ADAM_CHUNK : part.n;
        for (int64_t i = first + threadIdx.x; i < end; i += blockDim.x) {
            const float g = part.grad[i] + p.weight_decay * part.value[i];
            const float m = part.m[i] + p.beta1_rest * (g - part.m[i]);
            const float v = p.beta2 * part.v[i] + p.beta2_rest * g * g;
            part.m[i] = m;
            part.v[i] = v;
            part.value[i] = p.keep * part.value[i] - p.step_size * m / (sqrtf(v) / p.root_correction + p.eps);
        }
    }
}

}  // namespace meshscope::gpu
