#pragma once

#include <string>

#include "core/nn/layers/batch_norm.h"
#include "core/nn/layers/linear.h"
#include "core/nn/model/spec.h"

namespace meshscope::nn {

/// down(act(up(x))), act gelu_tanh, gelu or relu: one layer of `mlp`, and the second half of gpt's blocks.
/// With a norm down(act(norm(up(x)))).
class MlpBlock final : public Layer {
  public:
    MlpBlock(std::string name, Linear* up, Linear* down, BatchNorm* norm = nullptr,
             Activation activation = Activation::gelu_tanh);

  protected:
    Variable compute(Tape& tape, Variable x) override;

  private:
    Linear* up_;
    Linear* down_;
    BatchNorm* norm_;  ///< null: none
    Activation activation_;
};

/// down(act(gate(x)) · up(x)): the second half of llama's blocks. act is silu (SwiGLU; one kernel with the
/// product), gelu or gelu_tanh (GeGLU; two).
class GatedMlp final : public Layer {
  public:
    GatedMlp(std::string name, Linear* gate, Linear* up, Linear* down,
             Activation activation = Activation::silu);

    /// Silu and the product are kernels of their own; see use_ops().
    bool eager = false;

  protected:
    Variable compute(Tape& tape, Variable x) override;

  private:
    Variable gated(Tape& tape, Variable gate, Variable up) const;

    Linear* gate_;
    Linear* up_;
    Linear* down_;
    Activation activation_;
};

}  // namespace meshscope::nn
