#pragma once

#include <span>
#include <string_view>

#include "core/parallel/strategy.h"

namespace meshscope::parallel {

/// The 2-norm of gradients that are cut over `group` without overlap, where gradients[i] belongs to
/// parameters[i] and is undefined where that is frozen: this rank's squares are summed in double in the order
/// given, rounded to one float, and that is summed by one all_reduce. Null group: no collective. Every rank
/// of the group calls it; `rule` says why. Beside tensor parallelism the all_reduce carries two floats, and
/// norm_over_tp follows.
double sharded_gradient_norm(std::span<const Tensor> gradients, std::span<const LocalParameter> parameters,
                             comm::ProcessGroup* group, std::string_view rule, const RankContext& context);

/// Sums each of the numbers over the group, in one all_reduce on the all_reduce stream behind what was
/// computed so far. Every rank of the group calls it with as many; `rule` says why.
void sum_over(comm::ProcessGroup& group, std::span<float> numbers, std::string_view rule,
              const RankContext& context);

/// The 2-norm of the gradients of the whole model. `squares` holds one Σ g² for each local parameter, over
/// all rows of Parameter::shape: summed over the ranks of the data dims already. Parameters are summed in
/// double, in their order; then norm_over_tp.
double model_norm(std::span<const double> squares, std::span<const LocalParameter> parameters,
                  const RankContext& context);

/// √(whole + the sum over the tp group of cut), from this rank's sums of squares: of the parameters that
/// every tp rank holds whole, which count once, and of those that tensor parallelism cut. One all_reduce of
/// one float ("clip.grad_norm.tensor_parallel"), none without a tp group. Every rank of that group calls it.
double norm_over_tp(double whole, double cut, const RankContext& context);

}  // namespace meshscope::parallel
