#include "tests/stand_in/product.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "backends/cuda/kernels/gpu_code.h"

namespace meshscope::stand_in {
namespace {

/// To the nearest with 10 bits after the first, ties away from zero, as cvt.rna.tf32 does it.
float to_tf32(float x) {
    const uint32_t bits = std::bit_cast<uint32_t>(x);
    if ((bits & 0x7F800000U) == 0x7F800000U) return x;  // infinite or NaN
    return std::bit_cast<float>((bits + 0x1000U) & ~0x1FFFU);
}

/// A matrix as floats, row-major, turned if it is stored so.
template <class T>
std::vector<float> read(const void* from, int64_t rows, int64_t columns, bool transposed) {
    std::vector<float> numbers(static_cast<std::size_t>(rows * columns));
    const T* const stored = static_cast<const T*>(from);
    std::size_t at = 0;
    for (int64_t r = 0; r < rows; ++r)
        for (int64_t c = 0; c < columns; ++c)
            numbers[at++] = gpu::load(stored[transposed ? c * rows + r : r * columns + c]);
    return numbers;
}

template <class T>
void run(const MeshscopeGpuProduct& p) {
    std::vector<float> a = read<T>(p.a, p.m, p.k, p.transpose_a != 0);
    std::vector<float> b = read<T>(p.b, p.k, p.n, p.transpose_b != 0);
    if (p.tf32 != 0 && p.dtype == MESHSCOPE_FLOAT32)  // of bfloat16 nothing is left to cut
        for (std::vector<float>* const factor : {&a, &b})
            std::ranges::transform(*factor, factor->begin(), to_tf32);
    T* const out = static_cast<T*>(p.out);
    std::vector<double> sums(static_cast<std::size_t>(p.n));
    for (int64_t r = 0; r < p.m; ++r) {
        for (int64_t c = 0; c < p.n; ++c) {
            float start = 0.0F;
            if (p.bias != nullptr) start = gpu::load(static_cast<const T*>(p.bias)[c]);
            if (p.accumulate != 0) start = gpu::load(out[r * p.n + c]);
            sums[static_cast<std::size_t>(c)] = start;
        }
        for (int64_t i = 0; i < p.k; ++i) {
            const double x = a[static_cast<std::size_t>(r * p.k + i)];
            const float* const row = b.data() + i * p.n;
            for (int64_t c = 0; c < p.n; ++c) sums[static_cast<std::size_t>(c)] += x * row[c];
        }
        for (int64_t c = 0; c < p.n; ++c)
            out[r * p.n + c] = gpu::store<T>(static_cast<float>(sums[static_cast<std::size_t>(c)]));
    }
}

}  // namespace

void run_product(const MeshscopeGpuProduct& product) {
    if (product.dtype == MESHSCOPE_BFLOAT16)
        run<gpu::BFloat16>(product);
    else
        run<float>(product);
}

}  // namespace meshscope::stand_in
