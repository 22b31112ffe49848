#pragma once

#include <cstdint>
#include <optional>

#include "core/base/kinds.h"

namespace meshscope::parallel {

/// How the sums of gradients over the ranks become means: torch/distributed/fsdp/_fully_shard/
/// _fsdp_collectives.py, _get_gradient_divide_factors.
///
/// float32 and bfloat16: the collectives average themselves (AVG; over one rank SUM). With a factor of the
/// user's: the reduce_scatter averages where the factor is its group's size, else it multiplies by 1/factor
/// as it sums (PREMUL_SUM), and the all_reduce sums. Told to use SUM alone: divided once, afterwards. float16
/// has little range, so about √factor is divided before and the rest after: 8 ranks 4 and 2, 16 ranks 4 and
/// 4, 6 ranks 4 and 1.5.
struct GradientDivide {
    float pre = 1;   ///< of the reduce_scatter's input; 1: not divided
    float post = 1;  ///< of what the last collective leaves
    ReduceOp scatter_op = ReduceOp::avg;
    ReduceOp all_reduce_op = ReduceOp::avg;
    double premul = 1;  ///< what PREMUL_SUM multiplies by

    /// `replicas`: of the all_reduce; 1 where there is none.
    static GradientDivide of(int64_t shard_ranks, int64_t replicas, DType reduce,
                             std::optional<double> factor, bool force_sum);
};

}  // namespace meshscope::parallel
