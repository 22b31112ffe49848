#pragma once

#include <cstdint>
#include <functional>

#include "core/tensor/kernels.h"
#include "core/tensor/tensor.h"

namespace meshscope::tensor {

/// Where parts of a flat tensor lie: part r begins at element first + r · stride.
struct StridedParts {
    int64_t first = 0, stride = 0;
    int64_t count = 0;
};

// Each casts to y's dtype, a kernel a part. On a device that does nothing the parts' sums are one call: what
// a step costs is the same, and a dry run does not grow with the ranks.

/// y's elements in order, in equal parts, from x's parts.
void gather_parts(const Kernels& kernels, const Tensor& y, const Tensor& x, const StridedParts& parts);

/// x's elements in order to y's parts, part r takes size_of(r) of them; the rest of each, up to `room`
/// elements, is set to zero.
void spread_parts(const Kernels& kernels, const Tensor& y, const StridedParts& parts, int64_t room,
                  const Tensor& x, const std::function<int64_t(int64_t)>& size_of);

}  // namespace meshscope::tensor
