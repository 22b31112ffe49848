#pragma once

#include "core/nn/tape.h"

namespace meshscope::nn {

/// max(x, 0). Keeps its output. Events "relu", "relu.backward".
Variable relu(Tape& tape, Variable x);

/// torch's gelu(approximate="tanh"). Keeps its input. Events "gelu_tanh", "gelu_tanh.backward".
Variable gelu_tanh(Tape& tape, Variable x);

/// a + b, of the same shape. Keeps nothing; backward hands the gradient on to both without a copy or a
/// kernel. Event "add".
Variable add(Tape& tape, Variable a, Variable b);

}  // namespace meshscope::nn
