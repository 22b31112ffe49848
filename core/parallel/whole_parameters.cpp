#include "core/parallel/whole_parameters.h"

#include "core/base/error.h"
#include "core/parallel/gradient_norm.h"
#include "core/parallel/read_into.h"
#include "core/tensor/kernels.h"

namespace meshscope::parallel {

std::vector<LocalParameter> allocate_whole(nn::Model& model, tensor::Allocator& allocator,
                                           const InitialValues* values, bool owned, MemoryCategory category,
                                           DType dtype) {
    std::vector<LocalParameter> local;
    for (const auto& parameter : model.all_parameters()) {
        // What no optimizer updates has no float32 values beside the model's copy of them.
        const bool frozen_copy = parameter->frozen && category != MemoryCategory::parameters;
        parameter->value = allocator.empty(
            parameter->shape, dtype, frozen_copy ? MemoryCategory::temporaries : category, parameter->name);
        if (values) read_into(parameter->value, *values, *parameter, 0);
        local.push_back({parameter.get(), parameter->value, 0, owned});
    }
    const tensor::Kernels& kernels = allocator.device().kernels();
    for (const auto& buffer : model.buffers()) {
        buffer->value =
            allocator.empty(buffer->shape, buffer->dtype, MemoryCategory::parameters, buffer->name);
        if (buffer->dtype == DType::float32)
            kernels.fill(buffer->value, buffer->first);
        else
            kernels.zero(buffer->value);  // counts begin there
    }
    return local;
}

std::vector<Tensor> whole_gradients(const nn::Model& model) {
    std::vector<Tensor> gradients;
    for (const auto& parameter : model.all_parameters()) {
        if (!parameter->grad.defined() && !parameter->frozen)
            throw InvalidArgument({"parallel.no_gradient", {{"parameter", parameter->name}}});
        gradients.push_back(parameter->grad);
    }
    return gradients;
}

double whole_gradient_norm(std::span<const LocalParameter> parameters, const RankContext& context) {
    std::vector<double> squares;
    for (const LocalParameter& local : parameters) {
        const Tensor& grad = local.parameter->grad;
        if (!grad.defined()) {  // frozen, or unused on every rank
            squares.push_back(0);
            continue;
        }
        const ComputeEvent event(context.recorder, *context.allocator, "grad_norm", local.parameter->name);
        squares.push_back(event->sum_of_squares(grad));
    }
    return model_norm(squares, parameters, context);
}

void drop_gradients(nn::Model& model) {
    for (const auto& parameter : model.all_parameters()) parameter->grad = {};
}

}  // namespace meshscope::parallel
