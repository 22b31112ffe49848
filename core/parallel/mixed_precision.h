#pragma once

#include <string>

#include "core/parallel/strategy.h"

namespace meshscope::parallel {

/// Which types training computes and reduces in, beside the one that shards, and what the optimizer updates,
/// stay in.
/// Sources: torch/distributed/fsdp/_fully_shard/_fsdp_api.py MixedPrecisionPolicy,
/// torch/distributed/fsdp/api.py MixedPrecision.
struct MixedPrecision {
    DType param = DType::float32;   ///< gathered or whole parameters, activations, fresh gradients
    DType reduce = DType::float32;  ///< gradients on the wire, and those summed over micro-batches
    /// What the optimizer updates, and its state: bfloat16 where all of training is ([train] dtype).
    DType stored = DType::float32;
};

/// Numbers in another type, as an event "cast"; what has it already is given back as it is.
Tensor cast_to(const Tensor& numbers, DType dtype, MemoryCategory category, const std::string& label,
               const RankContext& context, const std::string& unit);

/// The model's input in the type it computes in: floating-point numbers are cast (a copy, MemoryCategory
/// inputs), tokens and what has the type already are given back as they are.
Tensor cast_input(const Tensor& x, DType dtype, const RankContext& context);

}  // namespace meshscope::parallel
