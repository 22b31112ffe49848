#pragma once

// What the kernels of several devices share.

#include <string_view>

#include "core/tensor/kernels.h"
#include "core/tensor/tensor.h"

namespace meshscope::tensor {

/// Checks a row index against a table of `rows`; throws InvalidArgument ("kernel.index": kernel, index,
/// rows).
void expect_index(std::string_view kernel, int64_t index, int64_t rows);
/// The same of a target, which may also be kIgnoredTarget.
inline void expect_target(std::string_view kernel, int64_t target, int64_t classes) {
    if (target != kIgnoredTarget) expect_index(kernel, target, classes);
}

/// Casts between float16 and float32 or bfloat16; false, and nothing done, where neither is float16.
bool cast_float16(const Tensor& out, const Tensor& in);

/// The sizes of a linear layer's matrices: x (B, I), y (B, O), W (O, I).
struct LinearSizes {
    int64_t rows = 0;     ///< B
    int64_t inputs = 0;   ///< I
    int64_t outputs = 0;  ///< O
};
inline LinearSizes linear_sizes(const Tensor& x, const Tensor& weight) {
    LinearSizes sizes{1, weight.dim(1), weight.dim(0)};
    for (std::size_t i = 0; i + 1 < x.shape().size(); ++i) sizes.rows *= x.shape()[i];
    return sizes;
}

/// How many of `part` are in `whole`: rows of this width, or elements in each of so many rows; 0 of nothing.
inline int64_t times(int64_t part, int64_t whole) {
    return part == 0 ? 0 : whole / part;
}

}  // namespace meshscope::tensor
