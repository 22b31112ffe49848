#pragma once

// Element by element: each thread strides over its share.

#include "backends/cuda/kernels/gpu_code.h"

namespace meshscope::gpu {

template <class T>
__device__ inline const T* in(const void* memory) {
    return static_cast<const T*>(memory);
}
template <class T>
__device__ inline T* out(void* memory) {
    return static_cast<T*>(memory);
}

/// out[i] = f(i), rounded once.
template <class T, class F>
__device__ inline void map(const MeshscopeElements& p, const F& f) {
    each(p.n, [&](int64_t i) { out<T>(p.out)[i] = store<T>(f(i)); });
}

template <class T>
__global__ void fill(MeshscopeElements p) {
    map<T>(p, [&](int64_t) { return static_cast<float>(p.number); });
}
template <class T, class From>
__global__ void cast(MeshscopeElements p) {
    map<T>(p, [&](int64_t i) { return load(in<From>(p.a)[i]); });
}
template <class T>
__global__ void scale(MeshscopeElements p) {
    map<T>(p, [&](int64_t i) { return static_cast<float>(p.number) * load(in<T>(p.a)[i]); });
}
template <class T>
__global__ void divide(MeshscopeElements p) {
    map<T>(p, [&](int64_t i) { return load(in<T>(p.a)[i]) / static_cast<float>(p.number); });
}
template <class T>
__global__ void axpy(MeshscopeElements p) {
    map<T>(p, [&](int64_t i) {
        return fmaf(static_cast<float>(p.number), load(in<T>(p.a)[i]), load(out<T>(p.out)[i]));
    });
}
template <class T>
__global__ void add(MeshscopeElements p) {
    map<T>(p, [&](int64_t i) { return load(in<T>(p.a)[i]) + load(in<T>(p.b)[i]); });
}
template <class T>
__global__ void add_rows(MeshscopeElements p) {
    map<T>(p, [&](int64_t i) { return load(in<T>(p.a)[i]) + load(in<T>(p.b)[i % p.width]); });
}
template <class T>
__global__ void multiply(MeshscopeElements p) {
    map<T>(p, [&](int64_t i) { return load(in<T>(p.a)[i]) * load(in<T>(p.b)[i]); });
}

template <class T>
__global__ void relu(MeshscopeElements p) {
    map<T>(p, [&](int64_t i) {
        const float x = load(in<T>(p.a)[i]);
        return x < 0.0F ? 0.0F : x;  // a NaN stays
    });
}
template <class T>
__global__ void relu_backward(MeshscopeElements p) {
    map<T>(p, [&](int64_t i) { return load(in<T>(p.b)[i]) > 0.0F ? load(in<T>(p.a)[i]) : 0.0F; });
}

/// gelu's (1 + tanh(u)) / 2 with u = √(2/π) · (x + 0.044715 x³), as the sigmoid of 2u: nothing cancels.
__device__ inline float gelu_tanh_gate(float x) {
    const float u = 0.7978845608F * (x + 0.044715F * x * x * x);
    return 1.0F / (1.0F + expf(-2.0F * u));
}
template <class T>
__global__ void gelu_tanh(MeshscopeElements p) {
    map<T>(p, [&](int64_t i) {
        const float x = load(in<T>(p.a)[i]);
        return x * gelu_tanh_gate(x);
    });
}
template <class T>
__global__ void gelu_tanh_backward(MeshscopeElements p) {
    map<T>(p, [&](int64_t i) {
        const float x = load(in<T>(p.b)[i]);
        const float s = gelu_tanh_gate(x);
        const float du = 0.7978845608F * (1.0F + 3.0F * 0.044715F * x * x);
        return load(in<T>(p.a)[i]) * (s + 2.0F * x * s * (1.0F - s) * du);
    });
}

/// (1 + erf(x/√2)) / 2, by erfc: nothing cancels.
__device__ inline float normal_below(float x) {
    return 0.5F * erfcf(-0.7071067812F * x);
}
template <class T>
__global__ void gelu(MeshscopeElements p) {
    map<T>(p, [&](int64_t i) {
        const float x = load(in<T>(p.a)[i]);
        return x * normal_below(x);
    });
}
template <class T>
__global__ void gelu_backward(MeshscopeElements p) {
    map<T>(p, [&](int64_t i) {
        const float x = load(in<T>(p.b)[i]);
        const float density = 0.3989422804F * expf(-0.5F * x * x);
        return load(in<T>(p.a)[i]) * (normal_below(x) + x * density);
    });
}

__device__ inline float sigmoid(float x) {
    return 1.0F / (1.0F + expf(-x));
}
// torch.nn.functional.silu(gate) * up is two operations, and in bfloat16 the first one's result is rounded.
template <class T>
__global__ void silu_mul(MeshscopeElements p) {
    map<T>(p, [&](int64_t i) {
        const float gate = load(in<T>(p.a)[i]);
        return rounded<T>(gate * sigmoid(gate)) * load(in<T>(p.b)[i]);
    });
}
template <class T>
__global__ void silu_backward(MeshscopeElements p) {
    each(p.n, [&](int64_t i) {
        const float dy = load(in<T>(p.a)[i]);
        const float gate = load(in<T>(p.b)[i]);
        const float up = load(in<T>(p.c)[i]);
        const float s = sigmoid(gate);
        out<T>(p.out)[i] = store<T>(rounded<T>(dy * up) * s * (1.0F + gate * (1.0F - s)));
        out<T>(p.out2)[i] = store<T>(dy * rounded<T>(gate * s));
    });
}

template <class T>
__global__ void mse_backward(MeshscopeElements p) {
    const auto factor =
        static_cast<float>(2.0 * static_cast<double>(in<float>(p.c)[0]) / static_cast<double>(p.n));
    map<T>(p, [&](int64_t i) { return factor * (load(in<T>(p.a)[i]) - in<float>(p.b)[i]); });
}

}  // namespace meshscope::gpu
