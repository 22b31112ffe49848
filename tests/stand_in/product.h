#pragma once

#include "backends/cuda/gpu_module.h"

namespace meshscope::stand_in {

/// A matrix product by plain loops, summed in double and rounded once. With tf32 the factors of float32
/// have 10 bits after the first, as a tensor core rounds them.
void run_product(const MeshscopeGpuProduct& product);

}  // namespace meshscope::stand_in
