// The vector loops for any machine of the architecture.
#include "core/tensor/vector_loops_body.h"

namespace meshscope::tensor {

const VectorLoops& loops_baseline() {
    static constexpr VectorLoops kLoops = make_loops("baseline");
    return kLoops;
}

}  // namespace meshscope::tensor
