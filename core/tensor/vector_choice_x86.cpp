#include "core/tensor/vector_choice.h"

namespace meshscope::tensor {

std::vector<const VectorLoops*> runnable_loops() {
    std::vector<const VectorLoops*> tables;
#ifndef __SANITIZE_ADDRESS__  // GCC 12's address sanitizer lays 64-byte vectors on a stack that is not
                              // aligned for them
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
        tables.push_back(&loops_avx512());
#endif
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) tables.push_back(&loops_avx2());
    tables.push_back(&loops_baseline());
    return tables;
}

const VectorLoops& loops() {
    static const VectorLoops& best = *runnable_loops().front();
    return best;
}

}  // namespace meshscope::tensor
