#pragma once

#include "backends/cuda/gpu_module.h"

namespace meshscope::stand_in {

/// A matrix product by plain loops, summed in double and rounded once. tf32 changes nothing.
void run_product(const MeshscopeGpuProduct& product);

}  // namespace meshscope::stand_in
