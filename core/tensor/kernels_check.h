#pragma once

#include <string_view>

#include "core/tensor/tensor.h"

namespace meshscope::tensor {

/// Throws InvalidArgument ("kernel.shape") unless `tensor` is defined, has this dtype and this many elements.
void expect_count(std::string_view kernel, const Tensor& tensor, int64_t n, DType dtype = DType::float32);

/// The sizes of a linear layer's matrices: x (B, I), y (B, O), W (O, I).
struct LinearSizes {
    int64_t rows = 0;     ///< B
    int64_t inputs = 0;   ///< I
    int64_t outputs = 0;  ///< O
};

/// Reads the sizes from x (or dx), y (or dy) and W (or dW); throws InvalidArgument ("kernel.shape") where
/// they disagree. x and y may have more than two dims: all but the last are rows.
LinearSizes linear_sizes(std::string_view kernel, const Tensor& x, const Tensor& y, const Tensor& weight);

}  // namespace meshscope::tensor
