#include <cblas.h>

#include <algorithm>
#include <limits>

#include "core/base/error.h"
#include "core/tensor/blas_library.h"

namespace meshscope::tensor {
namespace {

/// Ranks are threads already: with threads of its own OpenBLAS would run ranks × cores of them.
void use_one_thread() {
    static const bool done = [] {
        openblas_set_num_threads(1);
        return true;
    }();
    static_cast<void>(done);
}

blasint size_of(int64_t n) {
    if (n > std::numeric_limits<blasint>::max()) throw InvalidArgument({"kernel.too_large", {{"n", n}}});
    return static_cast<blasint>(n);
}

void product(bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k, float alpha, Block a,
             Block b, float beta, float* c, int64_t c_stride, Lower) {
    if (beta == 0.0F) {
        // Cleared here rather than by the library, whose own loop for it takes a tenth of a small product.
        if (c_stride == n) {
            std::fill_n(c, m * n, 0.0F);
        } else {
            for (int64_t row = 0; row < m; ++row) std::fill_n(c + row * c_stride, n, 0.0F);
        }
    }
    use_one_thread();
    cblas_sgemm(CblasRowMajor, transpose_a ? CblasTrans : CblasNoTrans,
                transpose_b ? CblasTrans : CblasNoTrans, size_of(m), size_of(n), size_of(k), alpha, a.data,
                size_of(a.stride), b.data, size_of(b.stride), 1.0F, c, size_of(c_stride));
}

}  // namespace

const BlasLibrary& openblas() {
    static const BlasLibrary library{"OpenBLAS", "openblas", product};
    return library;
}

}  // namespace meshscope::tensor
