#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/base/kinds.h"

namespace meshscope::comm {

/// Throws InvalidArgument ("comm.reduce_op_not_for_dtype") where a reduction has no meaning for a dtype:
/// BAND, BOR and BXOR need integers; AVG and PREMUL_SUM need floats, because their quotients and products
/// would be cut (PyTorch's PREMUL_SUM is for floats only too; NCCL's AVG truncates integers, PyTorch's gloo
/// refuses AVG altogether). ReduceOp::none: "comm.reduce_op_missing".
void check_reduce_op(ReduceOp op, DType dtype);

/// Whether a reduction has a meaning for a dtype: check_reduce_op throws where it has none.
constexpr bool has_meaning(ReduceOp op, DType dtype) {
    const bool floats = dtype == DType::float32 || dtype == DType::bfloat16 || dtype == DType::float16;
    const bool bits = op == ReduceOp::band || op == ReduceOp::bor || op == ReduceOp::bxor;
    const bool fractions = op == ReduceOp::avg || op == ReduceOp::premul_sum;
    return op != ReduceOp::none && !(bits && floats) && !(fractions && !floats);
}

/// into[i] = from[i] ∘ into[i] for n elements, where ∘ is `op` (AVG and PREMUL_SUM add: see finish and
/// premultiply).
///
/// float32 in float32; bfloat16 and float16 widened to float32 and rounded (to nearest, ties to even) after
/// each call; integers wrap around. MIN and MAX return NaN when either is NaN. `into` and `from` may not
/// overlap. One pass, 3n elements moved.
void reduce_into(ReduceOp op, DType dtype, std::byte* into, const std::byte* from, int64_t n);

/// out[i] = from[i] ∘ own[i]: as reduce_into, into a third buffer. `out` may be the same as `own` or `from`.
void reduce_pair(ReduceOp op, DType dtype, std::byte* out, const std::byte* from, const std::byte* own,
                 int64_t n);

/// out[i] = ((sources[0][i] ∘ sources[1][i]) ∘ sources[2][i]) …: in the order given, in one pass over memory.
/// bfloat16 and float16 are summed in float32 and rounded once, at the end; AVG divides by sources.size()
/// before that rounding. `out` may be one of the sources, whole.
void reduce_many(ReduceOp op, DType dtype, std::byte* out, std::span<const std::byte* const> sources,
                 int64_t n);

/// AVG: data[i] /= p, once, after the sum; rounded to the dtype. Other ops: nothing.
void finish_reduce(ReduceOp op, DType dtype, std::byte* data, int64_t n, int32_t p);

/// out[i] = (float)factor · in[i], rounded to the dtype: what each rank does to its own input under
/// PREMUL_SUM before anything travels. `out` may be `in`.
void premultiply(DType dtype, double factor, std::byte* out, const std::byte* in, int64_t n);

/// The numbers as floats, for the record.
std::vector<float> to_floats(DType dtype, std::span<const std::byte> data);

}  // namespace meshscope::comm
