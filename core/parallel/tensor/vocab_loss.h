#pragma once

#include "core/comm/process_group.h"
#include "core/nn/layers/loss.h"
#include "core/nn/tape.h"

namespace meshscope::parallel {

/// Cross-entropy of logits cut by vocabulary over a tp group: the mean over all rows of
/// log Σ exp(logits) - logits[target], the same on every rank, without gathering the logits.
///
/// logits (…, V here), of the classes [first, first + V here) out of `classes`; targets (…, int64). Three
/// all_reduces of one number a row: MAX ("tp.loss.max"), SUM of exponentials ("tp.loss.sum_exp"), SUM of the
/// target's logit, which one rank holds ("tp.loss.picked"); none in backward. Keeps the logits and one
/// log-sum-exp a row. The loss has the logits' type, the rows' figures are float32. Throws InvalidArgument
/// ("kernel.index") for a target outside [0, classes). What `form` says holds as in nn::cross_entropy.
/// Source: torch/distributed/tensor/parallel/loss.py.
nn::Variable vocab_cross_entropy(nn::Tape& tape, nn::Variable logits, const tensor::Tensor& targets,
                                 int64_t first, int64_t classes, comm::ProcessGroup& group,
                                 const nn::LossForm& form = {});

/// Its memory, kernels and collectives as PyTorch's loss_parallel has them, over log_softmax of float32
/// logits (nn::Aten: no number is computed): keeps log_softmax's output in float32 and not the logits.
/// Forward holds three times that at most beside the logits, backward four times. Source:
/// torch/distributed/tensor/parallel/loss.py: _log_softmax, _nll_loss_and_log_softmax_backward.
nn::Variable eager_vocab_cross_entropy(nn::Tape& tape, nn::Variable logits, const tensor::Tensor& targets,
                                       comm::ProcessGroup& group);

}  // namespace meshscope::parallel
