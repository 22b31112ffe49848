#pragma once

#include <span>
#include <string_view>

#include "core/parallel/strategy.h"

namespace meshscope::parallel {

/// The 2-norm of gradients that are cut over `group` without overlap: this rank's squares are summed in
/// double in the order given, rounded to one float, and that is summed by one all_reduce. Null group: no
/// collective. Every rank of the group calls it; `rule` says why.
double sharded_gradient_norm(std::span<const Tensor> gradients, comm::ProcessGroup* group,
                             std::string_view rule, const RankContext& context);

}  // namespace meshscope::parallel
