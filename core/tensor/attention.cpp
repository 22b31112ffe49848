#include "core/tensor/attention.h"

#include <cmath>
#include <numbers>

namespace meshscope::tensor {

double rotary_frequency(double theta, int64_t head_dim, const RopeScaling& scaling, int64_t pair) {
    const double exponent = static_cast<double>(2 * pair) / static_cast<double>(head_dim);
    const double plain = std::pow(theta, -exponent);
    if (scaling.kind == RopeScaling::Kind::none) return plain;
    if (scaling.kind == RopeScaling::Kind::linear) return plain / scaling.factor;
    const double turns = static_cast<double>(scaling.original_tokens) * plain / (2.0 * std::numbers::pi);
    if (turns < scaling.low_freq_factor) return plain / scaling.factor;
    if (turns > scaling.high_freq_factor) return plain;
    const double share =
        (turns - scaling.low_freq_factor) / (scaling.high_freq_factor - scaling.low_freq_factor);
    return (1.0 - share) * plain / scaling.factor + share * plain;
}

}  // namespace meshscope::tensor
