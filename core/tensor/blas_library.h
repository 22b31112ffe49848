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
const BlasLibrary& openblas();  ///< where it was found
const BlasLibrary& onednn();    ///< where it was found

/// Those of this build, best first for this processor; matrix_product() takes the first. A thread-sanitizer
/// build has the plain loops only: it cannot see into the others and would miss races there.
std::vector<const BlasLibrary*> blas_libraries();

}  // namespace meshscope::tensor
