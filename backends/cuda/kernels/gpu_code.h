#pragma once

// What every kernel's code is made of. It is compiled twice: by nvcc for GPUs, and by the C++ compiler for
// the stand-in, where simt.h gives the names of CUDA that are used here. No other file knows which one it is.

#ifdef __CUDACC__
#define MESHSCOPE_SHARED(type, name, n) __shared__ type name[n]
#define MESHSCOPE_DYNAMIC_SHARED(name)                                \
    extern __shared__ __align__(16) unsigned char meshscope_shared[]; \
    float* const name = reinterpret_cast<float*>(meshscope_shared)
#else
#include "simt.h"  // of whoever compiles it so, on the include path (tests/stand_in)
#endif

#include <math.h>
#include <stdint.h>

#include "backends/cuda/gpu_kernels.h"

namespace meshscope::gpu {

/// bfloat16 and float16 as they lie in memory; both are computed in float.
struct BFloat16 {
    uint16_t bits;
};
struct Float16 {
    uint16_t bits;
};

/// The number as it is computed with.
__device__ inline float load(float x) {
    return x;
}
__device__ inline float load(BFloat16 x) {
    return __uint_as_float(static_cast<uint32_t>(x.bits) << 16U);
}
__device__ inline float load(Float16 x) {
    const uint32_t sign = static_cast<uint32_t>(x.bits & 0x8000U) << 16U;
    const uint32_t magnitude = x.bits & 0x7FFFU;
    if (magnitude >= 0x7C00U) return __uint_as_float(sign | 0x7F800000U | ((magnitude & 0x3FFU) << 13U));
    if (magnitude < 0x0400U) {
        const float value = static_cast<float>(magnitude) * 0x1p-24F;
        return __uint_as_float(sign | __float_as_uint(value));
    }
    return __uint_as_float(sign | ((magnitude << 13U) + 0x38000000U));
}

/// The nearest number that T holds, ties to even: the same bits as core/tensor/dtype.h gives.
template <class T>
__device__ inline T store(float x);
template <>
__device__ inline float store<float>(float x) {
    return x;
}
template <>
__device__ inline BFloat16 store<BFloat16>(float x) {
    const uint32_t bits = __float_as_uint(x);
    if ((bits & 0x7FFFFFFFU) > 0x7F800000U) return {static_cast<uint16_t>((bits >> 16U) | 0x40U)};
    return {static_cast<uint16_t>((bits + 0x7FFFU + ((bits >> 16U) & 1U)) >> 16U)};
}
template <>
__device__ inline Float16 store<Float16>(float x) {
    const uint32_t bits = __float_as_uint(x);
    const uint32_t sign = (bits >> 16U) & 0x8000U;
    const uint32_t magnitude = bits & 0x7FFFFFFFU;
    uint32_t half = 0;
    if (magnitude > 0x7F800000U)
        half = 0x7E00U | ((magnitude >> 13U) & 0x1FFU);  // NaN
    else if (magnitude >= 0x477FF000U)
        half = 0x7C00U;
    else if (magnitude < 0x38800000U)
        half = __float_as_uint(__uint_as_float(magnitude) + 0.5F) - 0x3F000000U;
    else
        half = (magnitude + 0xFFFU + ((magnitude >> 13U) & 1U) - 0x38000000U) >> 13U;
    return {static_cast<uint16_t>(sign | half)};
}

/// Rounded as if it had been written to memory in between.
template <class T>
__device__ inline float rounded(float x) {
    return load(store<T>(x));
}

/// Calls f(i) for this thread's share of 0 … n - 1: neighbouring threads take neighbouring elements.
template <class F>
__device__ inline void each(int64_t n, const F& f) {
    const int64_t stride = static_cast<int64_t>(gridDim.x) * blockDim.x;
    for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += stride) f(i);
}

__device__ inline float minus_infinity() {
    return __uint_as_float(0xFF800000U);
}

/// The sum, or the maximum, over a warp's 32 lanes; the same bits in each. As a butterfly: lanes 16 apart
/// first.
template <class T>
__device__ inline T warp_sum(T x) {
    for (int apart = 16; apart > 0; apart /= 2) x += __shfl_xor_sync(0xFFFFFFFFU, x, apart);
    return x;
}
/// A NaN wins.
__device__ inline float larger(float a, float b) {
    return b > a || isnan(b) ? (isnan(a) ? a : b) : a;
}
__device__ inline float warp_max(float x) {
    for (int apart = 16; apart > 0; apart /= 2) x = larger(x, __shfl_xor_sync(0xFFFFFFFFU, x, apart));
    return x;
}

/// The sum over a block of whole warps, warp 0 first; the same bits in each thread. All threads call it.
template <class T>
__device__ inline T block_sum(T x) {
    MESHSCOPE_SHARED(T, of_warps, 32);
    x = warp_sum(x);
    if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32] = x;
    __syncthreads();
    T sum = of_warps[0];
    for (unsigned warp = 1; warp < blockDim.x / 32; ++warp) sum += of_warps[warp];
    __syncthreads();
    return sum;
}
__device__ inline float block_max(float x) {
    MESHSCOPE_SHARED(float, of_warps, 32);
    x = warp_max(x);
    if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32] = x;
    __syncthreads();
    float largest = of_warps[0];
    for (unsigned warp = 1; warp < blockDim.x / 32; ++warp) largest = larger(largest, of_warps[warp]);
    __syncthreads();
    return largest;
}

/// A gradient's sum, put down or added onto what `old` holds. PyTorch makes the gradient, rounded, and then
/// adds it, which rounds again.
template <class T>
__device__ inline T gradient(float sum, T old, int32_t accumulate) {
    return accumulate != 0 ? store<T>(load(old) + rounded<T>(sum)) : store<T>(sum);
}

}  // namespace meshscope::gpu
