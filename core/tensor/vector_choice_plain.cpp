// Architectures with one table only.
#include "core/tensor/vector_choice.h"

namespace meshscope::tensor {

std::vector<const VectorLoops*> runnable_loops() {
    return {&loops_baseline()};
}

const VectorLoops& loops() {
    return loops_baseline();
}

}  // namespace meshscope::tensor
