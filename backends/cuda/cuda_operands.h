#pragma once

// What the files of CudaKernels share: the parameters of element kernels.

#include "backends/cuda/gpu_kernels.h"
#include "core/base/kinds.h"
#include "core/tensor/tensor.h"

namespace meshscope::backends::cuda {

static_assert(static_cast<int>(DType::float32) == MESHSCOPE_FLOAT32 &&
              static_cast<int>(DType::bfloat16) == MESHSCOPE_BFLOAT16 &&
              static_cast<int>(DType::int32) == MESHSCOPE_INT32 &&
              static_cast<int>(DType::int64) == MESHSCOPE_INT64 &&
              static_cast<int>(DType::uint8) == MESHSCOPE_UINT8 &&
              static_cast<int>(DType::float16) == MESHSCOPE_FLOAT16);

/// For a kernel of one output and up to two inputs, over out's elements.
inline MeshscopeElements elements_of(const tensor::Tensor& out, const tensor::Tensor& a = {},
                                     const tensor::Tensor& b = {}, double number = 0.0) {
    MeshscopeElements p{};
    p.out = out.raw();
    p.a = a.raw();
    p.b = b.raw();
    p.n = out.n_elements();
    p.number = number;
    return p;
}

/// A float32 or int64 tensor's numbers on the device; null when undefined.
inline float* floats(const tensor::Tensor& tensor) {
    return reinterpret_cast<float*>(tensor.raw());
}
inline const int64_t* integers(const tensor::Tensor& tensor) {
    return reinterpret_cast<const int64_t*>(tensor.raw());
}

}  // namespace meshscope::backends::cuda
