#pragma once

#include <span>
#include <vector>

#include "core/parallel/strategy.h"

namespace meshscope::parallel {

/// What strategies share that keep every parameter whole on every rank (single, DDP).

/// Allocates each parameter's value; fills it from `values` unless null. The
/// model's buffers likewise, with what they begin with, on every rank.
std::vector<LocalParameter> allocate_whole(nn::Model& model, tensor::Allocator& allocator,
                                           const InitialValues* values, bool owned,
                                           MemoryCategory category = MemoryCategory::parameters,
                                           DType dtype = DType::float32);

/// Each parameter's grad, in order, undefined of frozen ones; throws InvalidArgument ("parallel.no_gradient")
/// where backward left none.
std::vector<Tensor> whole_gradients(const nn::Model& model);

/// √Σ g² over all parameters, squares summed in double in parameter order; see model_norm for what tensor
/// parallelism adds.
double whole_gradient_norm(std::span<const LocalParameter> parameters, const RankContext& context);

void drop_gradients(nn::Model& model);

}  // namespace meshscope::parallel
