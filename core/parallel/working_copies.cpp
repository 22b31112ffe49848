#include "core/parallel/working_copies.h"

#include <utility>

#include "core/tensor/kernels.h"

namespace meshscope::parallel {

WorkingCopies::WorkingCopies(const RankContext& context, nn::Model& model, const MixedPrecision& precision)
    : context_(context), model_(model), precision_(precision), sums_(model.all_parameters().size()) {}

void WorkingCopies::make(std::vector<LocalParameter>& local) {
    if (!copies()) return;
    for (LocalParameter& each : local) {
        nn::Parameter& parameter = *model_.all_parameters()[static_cast<std::size_t>(each.parameter->index)];
        if (parameter.frozen) {
            parameter.value = {};
            each.value = parameter.value = cast_to(each.value, precision_.param, MemoryCategory::parameters,
                                                   parameter.name, context_, "model");
            continue;
        }
        parameter.value = context_.allocator->empty(parameter.shape, precision_.param,
                                                    MemoryCategory::parameters, parameter.name);
        values_.push_back(each);
    }
    refresh();
}

void WorkingCopies::refresh() const {
    if (!copies()) return;
    const ComputeEvent event(context_.recorder, *context_.allocator, "cast", "model");
    for (const LocalParameter& each : values_) event->cast(each.parameter->value.flat(), each.value.flat());
}

void WorkingCopies::keep(nn::Parameter& parameter) {
    Tensor& sum = sums_[static_cast<std::size_t>(parameter.index)];
    sum = take(parameter);
}

Tensor WorkingCopies::take(nn::Parameter& parameter) {
    Tensor sum = std::exchange(sums_[static_cast<std::size_t>(parameter.index)], {});
    const Tensor grad = std::exchange(parameter.grad, {});
    if (!grad.defined()) return sum;
    const Tensor fresh = cast_to(grad, precision_.reduce, MemoryCategory::gradients,
                                 parameter.name + " grad sum", context_, parameter.name);
    if (!sum.defined()) return fresh;
    const ComputeEvent event(context_.recorder, *context_.allocator, "copies.accumulate", parameter.name);
    event->add(sum, sum, fresh);
    return sum;
}

void WorkingCopies::finish() {
    for (const auto& parameter : model_.all_parameters()) {
        Tensor& sum = sums_[static_cast<std::size_t>(parameter->index)];
        if (!sum.defined()) continue;
        parameter->grad = cast_to(sum, DType::float32, MemoryCategory::gradients, parameter->name + " grad",
                                  context_, parameter->name);
        sum = {};
    }
}

}  // namespace meshscope::parallel
