#pragma once

#include "core/tensor/kernels.h"

namespace meshscope::tensor {

/// Every kernel as its formula reads, element by element, computed in double and rounded to float32 at the
/// end. Slow on purpose: it is what the fast kernels are tested against, and what thread-sanitizer builds use
/// for matrix products.
class ReferenceKernels : public KernelWork {
  public:
#define KERNEL(result, method, name, parameters, ...) result method parameters const override;
#include "core/tensor/kernels.def"
};

}  // namespace meshscope::tensor
