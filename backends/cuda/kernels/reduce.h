#pragma once

// What collectives do to numbers: core/comm/reduce.h on the device.

#include "backends/cuda/kernels/elements.h"

namespace meshscope::gpu {

/// What a stored T is computed in: floats in float, integers as unsigned ones, where overflow is defined.
template <class T>
struct Computed {
    using type = float;
    __device__ static float get(T x) { return load(x); }
    __device__ static T put(float x) { return store<T>(x); }
};
template <class T, class Wide>
struct ComputedInteger {
    using type = Wide;
    __device__ static Wide get(T x) { return static_cast<Wide>(x); }
    __device__ static T put(Wide x) { return static_cast<T>(x); }
};
template <>
struct Computed<int32_t> : ComputedInteger<int32_t, uint32_t> {};
template <>
struct Computed<int64_t> : ComputedInteger<int64_t, uint64_t> {};
template <>
struct Computed<uint8_t> : ComputedInteger<uint8_t, uint32_t> {};

template <class T>
__device__ inline float combine(int32_t reduction, float a, float b) {
    switch (reduction) {
        case MESHSCOPE_REDUCE_PRODUCT:
            return a * b;
        case MESHSCOPE_REDUCE_MIN:
            return b < a || isnan(b) ? b : a;
        case MESHSCOPE_REDUCE_MAX:
            return b > a || isnan(b) ? b : a;
        default:
            return a + b;
    }
}
template <class T, class Wide>
__device__ inline Wide combine(int32_t reduction, Wide a, Wide b) {
    switch (reduction) {
        case MESHSCOPE_REDUCE_PRODUCT:
            return a * b;
        case MESHSCOPE_REDUCE_MIN:
            return static_cast<T>(b) < static_cast<T>(a) ? b : a;
        case MESHSCOPE_REDUCE_MAX:
            return static_cast<T>(b) > static_cast<T>(a) ? b : a;
        case MESHSCOPE_REDUCE_BAND:
            return a & b;
        case MESHSCOPE_REDUCE_BOR:
            return a | b;
        case MESHSCOPE_REDUCE_BXOR:
            return a ^ b;
        default:
            return a + b;
    }
}

template <class T>
__global__ void reduce(MeshscopeReduce p) {
    using C = Computed<T>;
    each(p.n, [&](int64_t i) {
        typename C::type sum = C::get(in<T>(p.sources[0])[i]);
        for (int32_t s = 1; s < p.n_sources; ++s)
            sum = combine<T>(p.reduction, sum, C::get(in<T>(p.sources[s])[i]));
        if (p.divisor != 0) sum = sum / static_cast<typename C::type>(p.divisor);
        out<T>(p.out)[i] = C::put(sum);
    });
}

}  // namespace meshscope::gpu
