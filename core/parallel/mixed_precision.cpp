#include "core/parallel/mixed_precision.h"

#include <string>

#include "core/parallel/mixed_precision_key.h"
#include "core/tensor/kernels.h"

namespace meshscope::parallel {

Tensor cast_to(const Tensor& numbers, DType dtype, MemoryCategory category, const std::string& label,
               const RankContext& context, const std::string& unit) {
    if (numbers.dtype() == dtype) return numbers;
    const Tensor cast = context.allocator->empty(numbers.shape(), dtype, category, label);
    const ComputeEvent event(context.recorder, *context.allocator, "cast", unit);
    event->cast(cast, numbers);
    return cast;
}

Tensor cast_input(const Tensor& x, DType dtype, const RankContext& context) {
    const bool floating = x.dtype() == DType::float32 || x.dtype() == DType::bfloat16;
    return floating ? cast_to(x, dtype, MemoryCategory::inputs, "x cast", context, "model") : x;
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
        found.push_back(
            {.key = "mixed_precision",
             .message = {"scenario.precision_batch_norm", {{"key", std::string("parallel.mixed_precision")}}},
             .of = Refusal::Of::key});
}

}  // namespace meshscope::parallel
