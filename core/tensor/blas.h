#pragma once

#include <cstdint>
#include <string_view>

namespace meshscope::tensor {

/// C (m, n) = op(A) · op(B) + beta · C, row-major and dense, where op(A) is (m, k) and op(B) is (k, n): a
/// transposed A is stored (k, m), a transposed B (n, k). beta is 0 (C is not read) or 1. One thread; 2·m·n·k
/// flops.
///
/// Done by one of the libraries of this build, the same for the whole program: oneDNN on processors with
/// AVX-512, else OpenBLAS, else our plain loops; use_matrix_product_library() names another. The first
/// product loads it, unless load_matrix_product_library() did. Throws InvalidArgument: "kernel.too_large"
/// where the library's sizes are too small for a dim, "kernel.product_refused", and what loading throws.
void matrix_product(bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k, const float* a,
                    const float* b, float beta, float* c);

/// A matrix inside a larger one: rows `stride` elements apart.
struct Block {
    const float* data = nullptr;
    int64_t stride = 0;
};

/// One matrix of a product of which only elements (i, j) with j ≤ i + diagonal count, as it is stored:
/// causal attention's scores. A product may leave out work on the others, which is up to half of it.
struct Lower {
    enum class Matrix : uint8_t {
        none,    ///< all count
        left,    ///< the others of A are 0
        result,  ///< the others of C are not wanted: what they hold after is not said
    };
    Matrix matrix = Matrix::none;
    int64_t diagonal = 0;
};

/// C = alpha · op(A) · op(B) + beta · C as above, where each matrix may be a block of a larger one; the
/// stride of a matrix stored transposed is that of its stored rows. At most 2·m·n·k flops. Throws as above.
void block_product(bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k, float alpha, Block a,
                   Block b, float beta, float* c, int64_t c_stride, Lower lower = {});

/// Makes all later products go through "onednn", "openblas" or "plain", whatever the processor. To be called
/// before the first one: bits differ between libraries. Throws InvalidArgument ("kernel.unknown_blas") where
/// this build does not have it.
void use_matrix_product_library(std::string_view word);

/// For people: "oneDNN", "OpenBLAS" or "plain loops". Loads nothing.
std::string_view matrix_product_library();

/// What loading it maps, and a first product, roughly; 0 once it is loaded.
int64_t matrix_product_library_bytes();

/// Loads what products go through now, so that the first product is as fast as the others. Throws
/// InvalidArgument "kernel.blas_not_loaded" {name, reason}, std::bad_alloc where it cannot be mapped.
void load_matrix_product_library();

}  // namespace meshscope::tensor
