#include <algorithm>
#include <vector>

#include "core/tensor/blas.h"

namespace meshscope::tensor {

void matrix_product(bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k, const float* a,
                    const float* b, float beta, float* c) {
    if (m == 0 || n == 0) return;
    if (beta == 0.0F) std::fill(c, c + m * n, 0.0F);
    // The inner loop runs along rows of B and C, which compilers turn into vector code; a transposed B is
    // turned first.
    std::vector<float> turned;
    if (transpose_b) {
        turned.resize(static_cast<std::size_t>(n * k));
        for (int64_t j = 0; j < n; ++j)
            for (int64_t i = 0; i < k; ++i) turned[static_cast<std::size_t>(i * n + j)] = b[j * k + i];
        b = turned.data();
    }
    for (int64_t row = 0; row < m; ++row) {
        float* out = c + row * n;
        for (int64_t i = 0; i < k; ++i) {
            const float factor = transpose_a ? a[i * m + row] : a[row * k + i];
            const float* in = b + i * n;
            for (int64_t column = 0; column < n; ++column) out[column] += factor * in[column];
        }
    }
}

std::string_view matrix_product_library() {
    return "plain loops";
}

}  // namespace meshscope::tensor
