#include "core/parallel/mixed_precision.h"

#include <string>

#include "core/parallel/mixed_precision_key.h"
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

void refuse_precision(const StrategyUse& use, std::initializer_list<std::string_view> others,
                      std::vector<Refusal>& found) {
    if (!use.has("mixed_precision")) return;
    for (const std::string_view key : others)
        if (use.has(key))
            found.push_back(
                {.key = std::string(key),
                 .message = {"scenario.precision_with", {{"key", "parallel." + std::string(key)}}},
                 .of = Refusal::Of::key});
    if (use.spec.norm != nn::Norm::none)
        found.push_back({.key = "mixed_precision",
                         .message = {"scenario.precision_batch_norm", {}},
                         .of = Refusal::Of::key});
}

}  // namespace meshscope::parallel
