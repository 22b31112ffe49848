#pragma once

#include <initializer_list>
#include <string_view>

#include "core/tensor/attention.h"
#include "core/tensor/tensor.h"

namespace meshscope::tensor {

/// Throws InvalidArgument ("kernel.shape") unless `tensor` is defined, has this dtype and this many elements.
void expect_count(std::string_view kernel, const Tensor& tensor, int64_t n, DType dtype = DType::float32);

/// Casts between float16 and float32 or bfloat16, counts checked; false, and nothing done, where neither is
/// float16.
bool cast_float16(const Tensor& out, const Tensor& in);

/// The sizes of a linear layer's matrices: x (B, I), y (B, O), W (O, I).
struct LinearSizes {
    int64_t rows = 0;     ///< B
    int64_t inputs = 0;   ///< I
    int64_t outputs = 0;  ///< O
};

/// Reads the sizes from x (or dx), y (or dy) and W (or dW); throws InvalidArgument ("kernel.shape") where
/// they disagree. x and y may have more than two dims: all but the last are rows.
LinearSizes linear_sizes(std::string_view kernel, const Tensor& x, const Tensor& y, const Tensor& weight);

/// Checks a row index against a table of `rows`; throws InvalidArgument ("kernel.index": kernel, index,
/// rows).
void expect_index(std::string_view kernel, int64_t index, int64_t rows);

/// Checks y (N, D), a table (V, D) and indices (N, int64) and returns D; throws InvalidArgument
/// ("kernel.shape").
int64_t embedding_width(std::string_view kernel, const Tensor& y, const Tensor& table, const Tensor& indices);

/// Checks a norm's tensors: `xs` (N, D), mean and rstd (N) float32, weight (D). Throws InvalidArgument
/// ("kernel.shape").
void expect_layer_norm(std::string_view kernel, std::initializer_list<Tensor> xs, const Tensor& mean,
                       const Tensor& rstd, const Tensor& weight);
void expect_rms_norm(std::string_view kernel, std::initializer_list<Tensor> xs, const Tensor& rstd,
                     const Tensor& weight);

/// Checks a batch norm's tensors: `xs` (N, D), `features` (D), all float32, and returns N. Throws
/// InvalidArgument ("kernel.shape").
int64_t expect_batch_norm(std::string_view kernel, std::initializer_list<Tensor> xs,
                          std::initializer_list<Tensor> features);

/// Checks logits (N, V) of this dtype, lse (N, float32) and targets (N, int64), and returns V. Throws
/// InvalidArgument
/// ("kernel.shape").
int64_t expect_cross_entropy(std::string_view kernel, const Tensor& logits, const Tensor& lse,
                             const Tensor& targets, DType dtype = DType::float32);

/// Checks an attention call's sizes and the counts of its tensors; queries are q, o, dq …, keys are k, v, dk
/// …. Throws InvalidArgument ("kernel.shape").
void expect_attention(std::string_view kernel, const AttentionShape& shape,
                      std::initializer_list<Tensor> queries, std::initializer_list<Tensor> keys,
                      const Tensor& lse);

/// Checks a rotary call: an even head_dim, counts of both tensors and of the positions. Throws
/// InvalidArgument ("kernel.shape").
void expect_rotary(const RotaryShape& shape, const Tensor& out, const Tensor& in);

}  // namespace meshscope::tensor
