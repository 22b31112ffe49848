#pragma once

#include "core/parallel/strategy.h"

namespace meshscope::parallel {

/// Which types training computes and reduces in; shards, and what the optimizer updates, stay float32.
/// Sources: torch/distributed/fsdp/_fully_shard/_fsdp_api.py MixedPrecisionPolicy,
/// torch/distributed/fsdp/api.py MixedPrecision.
struct MixedPrecision {
    DType param = DType::float32;   ///< gathered or whole parameters, activations, fresh gradients
    DType reduce = DType::float32;  ///< gradients on the wire, and those summed over micro-batches
};

/// The model's input in the type it computes in: floating-point numbers are cast (a copy, MemoryCategory
/// inputs), tokens and what has the type already are given back as they are.
Tensor cast_input(const Tensor& x, DType dtype, const RankContext& context);

}  // namespace meshscope::parallel
