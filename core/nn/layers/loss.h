#pragma once

#include "core/nn/tape.h"

namespace meshscope::nn {

/// The mean over all elements of (prediction - target)²: one element. Keeps both. No gradient flows into
/// `target`. Events "mse", "mse.backward".
Variable mse(Tape& tape, Variable prediction, const Tensor& target);

}  // namespace meshscope::nn
