#pragma once

#include <string_view>

#include "core/comm/process_group.h"
#include "core/nn/tape.h"

namespace meshscope::parallel {

// Autograd nodes that carry values between the ranks of a tp group. Each runs on the compute stream and waits
// at once: what follows needs the result. Cost as the collective's, over n elements of x and t ranks; nodes
// keep no values. Sums are in the order of the group's algorithm, the same bits on every rank.

/// What goes into column-wise layers: x as it is. Backward: all_reduce of its gradient, because each rank's
/// columns saw only their share ("tp.colwise.input_grad"). Nothing at all where x needs no gradient.
/// Megatron's f (arXiv 1909.08053, section 3); DTensor's Replicate → Replicate with a Partial gradient.
nn::Variable share_input(nn::Tape& tape, nn::Variable x, comm::ProcessGroup& group);

/// What comes out of row-wise layers: the sum of all ranks' x by all_reduce, in place where nobody else
/// holds x, whose value is released. Backward: the gradient as it is. Megatron's g; DTensor's Partial →
/// Replicate.
nn::Variable sum_partial(nn::Tape& tape, nn::Variable x, comm::ProcessGroup& group,
                         std::string_view rule = "tp.rowwise.partial_sum");

/// The all_reduce of `value` on the compute path, waited for: in place where `value` is its only handle, else
/// in new memory, copied ("tp.copy"). Returns the result.
tensor::Tensor all_reduced(nn::Tape& tape, const tensor::Tensor& value, ReduceOp op,
                           comm::ProcessGroup& group, std::string_view rule);

}  // namespace meshscope::parallel
