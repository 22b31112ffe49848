#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "core/tensor/blas.h"

namespace meshscope::tensor {

/// One implementation of C = alpha · op(A) · op(B) + beta · C, as block_product() has it, for m, n, k ≥ 1 and
/// beta 0 or 1. Bits depend on the library and on the processor, not on the thread.
struct BlasLibrary {
    std::string_view name;  ///< for people: "OpenBLAS"
    std::string_view word;  ///< for use_matrix_product_library(): "openblas"
    void (*product)(bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k, float alpha, Block a,
                    Block b, float beta, float* c, int64_t c_stride, Lower lower);
};

const BlasLibrary& plain_loops();

/// A library of numbers is linked by a module of its own, which is opened when products are needed: such a
/// library starts threads and takes memory as soon as it is loaded. This is the function that a module
/// exports.
using BlasEntry = const BlasLibrary*();
inline constexpr const char* kBlasEntry = "meshscope_blas_library";

/// An implementation of this build, which need not be loaded.
struct BlasChoice {
    std::string_view name, word;  ///< as BlasLibrary has them
    bool is_module = false;       ///< linked by a module of its own, not by the engine
    int64_t mapped_bytes = 0;     ///< what loading it maps, and its first product, roughly
};

/// Those of this build, best first for this processor; matrix_product() takes the first. Loads none. A
/// thread-sanitizer build has the plain loops only: it cannot see into the others and would miss races there.
std::vector<BlasChoice> blas_choices();

/// Loads it, and the library with it; both stay until the process ends. Again it is the same one. Throws
/// InvalidArgument "kernel.blas_not_loaded" {name, reason},
/// std::bad_alloc where it cannot be mapped.
const BlasLibrary& load_blas(const BlasChoice& choice);

}  // namespace meshscope::tensor
