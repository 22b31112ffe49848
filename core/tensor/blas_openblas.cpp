#include <cblas.h>

#include <algorithm>
#include <limits>

#include "core/base/error.h"
#include "core/tensor/blas.h"

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

}  // namespace

void matrix_product(bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k, const float* a,
                    const float* b, float beta, float* c) {
    if (m == 0 || n == 0) return;
    if (k == 0) {
        if (beta == 0.0F) std::fill(c, c + m * n, 0.0F);
        return;
    }
    use_one_thread();
    cblas_sgemm(CblasRowMajor, transpose_a ? CblasTrans : CblasNoTrans,
                transpose_b ? CblasTrans : CblasNoTrans, size_of(m), size_of(n), size_of(k), 1.0F, a,
                size_of(transpose_a ? m : k), b, size_of(transpose_b ? k : n), beta, c, size_of(n));
}

std::string_view matrix_product_library() {
    return "OpenBLAS";
}

}  // namespace meshscope::tensor
