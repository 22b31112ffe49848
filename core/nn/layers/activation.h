#pragma once

#include "core/nn/tape.h"

namespace meshscope::nn {

/// max(x, 0). Keeps its output. Events "relu", "relu.backward".
Variable relu(Tape& tape, Variable x);

/// torch's gelu(approximate="tanh"). Keeps its input. Events "gelu_tanh", "gelu_tanh.backward".
Variable gelu_tanh(Tape& tape, Variable x);

/// torch's gelu. Keeps its input. Events "gelu", "gelu.backward".
Variable gelu(Tape& tape, Variable x);

/// a · b, element by element. Keeps both. Events "multiply", "multiply.backward".
Variable multiply(Tape& tape, Variable a, Variable b);

/// factor · x. Keeps nothing. Events "scale", "scale.backward".
Variable scale(Tape& tape, Variable x, float factor);

/// silu(gate) · up, where silu(g) = g / (1 + e^-g). Keeps both. Events "silu_mul", "silu_mul.backward".
Variable silu_mul(Tape& tape, Variable gate, Variable up);

/// a + b, of the same shape. Keeps nothing; backward hands the gradient on to both without a copy or a
/// kernel. Event "add".
Variable add(Tape& tape, Variable a, Variable b);

/// a (batch, …) + row (…) on each of a's rows: broadcasting. Keeps nothing. Events "add", "add.backward"
/// (row's gradient, the sum over the batch, first row first).
Variable add_rows(Tape& tape, Variable a, Variable row);

}  // namespace meshscope::nn
