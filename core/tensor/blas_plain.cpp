#include <algorithm>
#include <vector>

#include "core/tensor/blas_library.h"

namespace meshscope::tensor {

namespace {

void product(bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k, float alpha, Block a,
             Block b, float beta, float* c, int64_t c_stride, Lower) {
    // The inner loop runs along rows of B and C, which compilers turn into vector code; a transposed B is
    // turned first.
    std::vector<float> turned;
    if (transpose_b) {
        turned.resize(static_cast<std::size_t>(n * k));
        for (int64_t j = 0; j < n; ++j)
            for (int64_t i = 0; i < k; ++i)
                turned[static_cast<std::size_t>(i * n + j)] = b.data[j * b.stride + i];
        b = {turned.data(), n};
    }
    for (int64_t row = 0; row < m; ++row) {
        float* out = c + row * c_stride;
        if (beta == 0.0F) std::fill_n(out, n, 0.0F);
        for (int64_t i = 0; i < k; ++i) {
            const float factor =
                alpha * (transpose_a ? a.data[i * a.stride + row] : a.data[row * a.stride + i]);
            const float* in = b.data + i * b.stride;
            for (int64_t column = 0; column < n; ++column) out[column] += factor * in[column];
        }
    }
}

}  // namespace

const BlasLibrary& plain_loops() {
    static const BlasLibrary library{"plain loops", "plain", product};
    return library;
}

}  // namespace meshscope::tensor
