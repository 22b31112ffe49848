#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "core/parallel/strategy.h"
#include "core/tensor/dry_device.h"
#include "core/tensor/host_access.h"

namespace meshscope::parallel {

/// Fills `value` (float32 or bfloat16, on whatever device) with elements of `parameter`'s first values, from
/// `first` on.
inline void read_into(const Tensor& value, const InitialValues& values, const nn::Parameter& parameter,
                      int64_t first) {
    if (value.dtype() == DType::bfloat16) {
        if (tensor::does_nothing(value.device())) return;  // whose memory nobody writes
        constexpr int64_t kAtOnce = 1 << 16;
        const Tensor all = value.flat();
        std::vector<float> numbers;
        for (int64_t at = 0; at < all.n_elements(); at += kAtOnce) {
            numbers.resize(static_cast<std::size_t>(std::min(kAtOnce, all.n_elements() - at)));
            values.read(parameter, first + at, numbers);
            tensor::write_floats(all.slice(at, std::ssize(numbers)), numbers);
        }
        return;
    }
    tensor::fill_numbers<float>(value,
                                [&](std::span<float> numbers) { values.read(parameter, first, numbers); });
}

}  // namespace meshscope::parallel
