#pragma once

#include <string>

#include "core/nn/layers/layer.h"

namespace meshscope::nn {

/// y = x·Wᵀ + b: torch.nn.Linear. W (outputs, inputs), b (outputs); x (…, inputs) → (…, outputs).
///
/// Keeps x for backward unless W is frozen; W is read again through its handle when backward runs, wherever
/// its memory is then. Sizes are those of the parameters it finds, so a part of W computes a part of y.
/// Events "linear", "linear.weight_grad" (db and dW, 2·B·I·O + B·O flops), "linear.input_grad". Ready order:
/// bias, weight.
class Linear final : public Layer {
  public:
    /// `bias` may be null.
    Linear(std::string name, Parameter* weight, Parameter* bias);

    /// LoRA as peft has it, without dropout: y = x·Wᵀ + b + scaling · (x·Aᵀ)·Bᵀ, where A (rank, inputs) and B
    /// (outputs, rank) are linear layers without bias and this module's children. Events: theirs, "scale",
    /// "add".
    struct Lora {
        Linear* a = nullptr;
        Linear* b = nullptr;
        float scaling = 1;
    };
    void adapt(const Lora& lora);
    const Lora* lora() const { return lora_.a != nullptr ? &lora_ : nullptr; }

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
    Variable product(Tape& tape, Variable x);

    Lora lora_;
    Parameter* weight_;
    Parameter* bias_;
};

}  // namespace meshscope::nn
