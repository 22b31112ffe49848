// The vector loops for x86-64 machines with AVX-512 (F, BW, DQ, VL). CMake compiles this file, and no other,
// for them.
#include "core/tensor/vector_loops_body.h"

namespace meshscope::tensor {

const VectorLoops& loops_avx512() {
    static constexpr VectorLoops kLoops = make_loops("avx512");
    return kLoops;
}

}  // namespace meshscope::tensor
