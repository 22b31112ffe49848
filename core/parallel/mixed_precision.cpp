#include "core/parallel/mixed_precision.h"

#include "core/tensor/kernels.h"

namespace meshscope::parallel {

Tensor cast_input(const Tensor& x, DType dtype, const RankContext& context) {
    const bool floating = x.dtype() == DType::float32 || x.dtype() == DType::bfloat16;
    if (!floating || x.dtype() == dtype) return x;
    const Tensor cast = context.allocator->empty(x.shape(), dtype, MemoryCategory::inputs, "x cast");
    const ComputeEvent event(context.recorder, *context.allocator, "cast", "model");
    event->cast(cast, x);
    return cast;
}

}  // namespace meshscope::parallel
