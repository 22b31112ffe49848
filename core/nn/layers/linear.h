#pragma once

#include <string>

#include "core/nn/layers/layer.h"

namespace meshscope::nn {

/// y = x·Wᵀ + b: torch.nn.Linear. W (outputs, inputs), b (outputs); x (…, inputs) → (…, outputs).
///
/// Keeps x for backward; W is read again through its handle when backward runs, wherever its memory is then.
/// Sizes are those of the parameters it finds, so a part of W computes a part of y. Events "linear",
/// "linear.weight_grad" (db and dW, 2·B·I·O + B·O flops), "linear.input_grad". Ready order: bias, weight.
class Linear final : public Layer {
  public:
    /// `bias` may be null.
    Linear(std::string name, Parameter* weight, Parameter* bias);

    Parameter& weight() const { return *weight_; }
    Parameter* bias() const { return bias_; }

    /// A row-wise part: y is only this rank's partial sum, which map_output adds up over the ranks. The bias is
    /// then added once, after map_output, as an event "bias" of its own ("bias.backward": the sum of dy's
    /// rows).
    bool bias_after_map_output = false;

  protected:
    Variable compute(Tape& tape, Variable x) override;
    Variable after_map(Tape& tape, Variable output) override;

  private:
    Parameter* weight_;
    Parameter* bias_;
};

}  // namespace meshscope::nn
