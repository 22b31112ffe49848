#include "core/parallel/fsdp2/divide.h"

#include <cmath>

namespace meshscope::parallel {

GradientDivide GradientDivide::of(int64_t shard_ranks, int64_t replicas, DType reduce,
                                  std::optional<double> factor, bool force_sum) {
    const bool overflow_risk = reduce != DType::float32 && reduce != DType::bfloat16;
    const int64_t ranks = shard_ranks * replicas;
    GradientDivide divide;
    if (!overflow_risk && !force_sum) {
        if (!factor) {
            if (ranks == 1) divide.scatter_op = divide.all_reduce_op = ReduceOp::sum;
            return divide;
        }
        divide.all_reduce_op = ReduceOp::sum;
        if (shard_ranks == 1) {  // nothing is scattered: PyTorch divides the copy
            divide.scatter_op = ReduceOp::sum;
            divide.pre = static_cast<float>(*factor);
        } else if (*factor != static_cast<double>(shard_ranks)) {
            divide.scatter_op = ReduceOp::premul_sum;
            divide.premul = 1.0 / *factor;
        }
        return divide;
    }
    divide.scatter_op = divide.all_reduce_op = ReduceOp::sum;
    const double whole = factor.value_or(static_cast<double>(ranks));
    double pre = 1;
    if (overflow_risk)
        while (std::fmod(whole, pre) == 0 && whole / pre > pre) pre *= 2;
    divide.pre = static_cast<float>(pre);
    divide.post = static_cast<float>(whole / pre);
    return divide;
}

}  // namespace meshscope::parallel
