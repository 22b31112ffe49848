#pragma once

#include <cuda_runtime_api.h>

#include "backends/cuda/gpu_module.h"

namespace meshscope::gpu {

/// One matrix product by cuBLASLt, enqueued in `stream` of `device`, which is the current one. The algorithm
/// is the first that the library's heuristics name for these sizes, options and alignments, looked up once a
/// process; ways of summing in parts are left out except in float32, by a fixed tree: the same bits again.
/// Returns an error code of gpu_module.h.
int run_product(const MeshscopeGpuProduct& product, int device, cudaStream_t stream);

/// "cuBLASLt 13.1.0".
const char* product_library();
/// cuBLAS's own words for a status.
const char* product_error(int status);

}  // namespace meshscope::gpu
