#include "core/tensor/blas.h"

#include <algorithm>
#include <atomic>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/tensor/blas_library.h"

namespace meshscope::tensor {
namespace {

#ifdef MESHSCOPE_HAVE_ONEDNN
bool has_avx512() {
#ifdef __x86_64__
    return __builtin_cpu_supports("avx512f") > 0;
#else
    return false;
#endif
}
#endif

/// What all products go through: the best until use_matrix_product_library() says otherwise.
std::atomic<const BlasLibrary*>& library() {
    static std::atomic<const BlasLibrary*> chosen{blas_libraries().front()};
    return chosen;
}

}  // namespace

std::vector<const BlasLibrary*> blas_libraries() {
    std::vector<const BlasLibrary*> found;
#ifdef MESHSCOPE_HAVE_OPENBLAS
    found.push_back(&openblas());
#endif
#ifdef MESHSCOPE_HAVE_ONEDNN
    // A tenth to a fifth faster than OpenBLAS where there is AVX-512; with AVX2 alone it loses two thirds on
    // products of few rows.
    found.insert(has_avx512() ? found.begin() : found.end(), &onednn());
#endif
    found.push_back(&plain_loops());
    return found;
}

void matrix_product(bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k, const float* a,
                    const float* b, float beta, float* c) {
    block_product(transpose_a, transpose_b, m, n, k, 1.0F, {a, transpose_a ? m : k}, {b, transpose_b ? k : n},
                  beta, c, n);
}

void block_product(bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k, float alpha, Block a,
                   Block b, float beta, float* c, int64_t c_stride, Lower lower) {
    if (m == 0 || n == 0) return;
    if (k == 0) {
        if (beta == 0.0F)
            for (int64_t row = 0; row < m; ++row) std::fill_n(c + row * c_stride, n, 0.0F);
        return;
    }
    library()
        .load(std::memory_order_relaxed)
        ->product(transpose_a, transpose_b, m, n, k, alpha, a, b, beta, c, c_stride, lower);
}

void use_matrix_product_library(std::string_view word) {
    std::string known;
    for (const BlasLibrary* each : blas_libraries()) {
        if (each->word == word) return library().store(each, std::memory_order_relaxed);
        known += (known.empty() ? "" : ", ") + std::string(each->word);
    }
    throw InvalidArgument({"kernel.unknown_blas", {{"name", std::string(word)}, {"known", known}}});
}

std::string_view matrix_product_library() {
    return library().load(std::memory_order_relaxed)->name;
}

}  // namespace meshscope::tensor
