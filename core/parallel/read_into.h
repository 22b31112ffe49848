#pragma once

#include <cstdint>
#include <span>

#include "core/parallel/strategy.h"
#include "core/tensor/host_access.h"

namespace meshscope::parallel {

/// Fills `value` (float32, on whatever device) with elements of `parameter`'s first values, from `first` on.
inline void read_into(const Tensor& value, const InitialValues& values, const nn::Parameter& parameter,
                      int64_t first) {
    tensor::fill_numbers<float>(value,
                                [&](std::span<float> numbers) { values.read(parameter, first, numbers); });
}

}  // namespace meshscope::parallel
