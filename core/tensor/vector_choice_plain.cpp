// Architectures with one table only.
#include "core/tensor/vector_loops.h"

namespace meshscope::tensor {

const VectorLoops& loops() {
    return loops_baseline();
}

}  // namespace meshscope::tensor
