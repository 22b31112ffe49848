// The vector loops for x86-64 machines with AVX2 and FMA. CMake compiles this file, and no other, for them.
#include "core/tensor/vector_loops_body.h"

namespace meshscope::tensor {

const VectorLoops& loops_avx2() {
    static constexpr VectorLoops kLoops = make_loops("avx2");
    return kLoops;
}

}  // namespace meshscope::tensor
