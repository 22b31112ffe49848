#pragma once

#include <string>

#include "core/nn/module.h"
#include "core/nn/tape.h"

namespace meshscope::nn {

/// y = x·Wᵀ + b: torch.nn.Linear. W (outputs, inputs), b (outputs).
///
/// Keeps x for backward; W is read again through its handle when backward runs, wherever its memory is then.
/// Events "linear", "linear.weight_grad" (db and dW, 2·B·I·O + B·O flops), "linear.input_grad". Ready order:
/// bias, weight.
class Linear final : public Module {
  public:
    /// `bias` may be null.
    Linear(std::string name, Parameter* weight, Parameter* bias);

    /// x (…, inputs) → (…, outputs), inside a region of its own. Throws InvalidArgument ("kernel.shape").
    Variable forward(Tape& tape, Variable x);

    Parameter& weight() const { return *weight_; }
    Parameter* bias() const { return bias_; }

  private:
    Parameter* weight_;
    Parameter* bias_;
};

/// max(x, 0). Keeps its output. Events "relu", "relu.backward".
Variable relu(Tape& tape, Variable x);

/// torch's gelu(approximate="tanh"). Keeps its input. Events "gelu_tanh", "gelu_tanh.backward".
Variable gelu_tanh(Tape& tape, Variable x);

/// a + b, of the same shape. Keeps nothing; backward hands the gradient on to both without a copy or a
/// kernel. Event "add".
Variable add(Tape& tape, Variable a, Variable b);

/// The mean over all elements of (prediction - target)²: one element. Keeps both. No gradient flows into
/// `target`. Events "mse", "mse.backward".
Variable mse(Tape& tape, Variable prediction, const Tensor& target);

}  // namespace meshscope::nn
