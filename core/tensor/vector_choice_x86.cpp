#include "core/tensor/vector_loops.h"

namespace meshscope::tensor {

const VectorLoops& loops() {
    static const VectorLoops& best =
        __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? loops_avx2() : loops_baseline();
    return best;
}

}  // namespace meshscope::tensor
