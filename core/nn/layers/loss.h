#pragma once

#include "core/nn/tape.h"

namespace meshscope::nn {

/// The mean over all elements of (prediction - target)²: one element. Keeps both. No gradient flows into
/// `target`. Events "mse", "mse.backward".
Variable mse(Tape& tape, Variable prediction, const Tensor& target);

/// The mean over all rows of log Σ exp(logits) - logits[target], where logits (…, classes) and targets (…)
/// int64: torch's cross_entropy. Keeps the logits, their log-sum-exp (one number a row) and the targets. A
/// target that is no class throws InvalidArgument ("kernel.index"). Events "cross_entropy",
/// "cross_entropy.backward".
Variable cross_entropy(Tape& tape, Variable logits, const Tensor& targets);

}  // namespace meshscope::nn
