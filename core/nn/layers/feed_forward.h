#pragma once

#include <string>

#include "core/nn/layers/batch_norm.h"
#include "core/nn/layers/linear.h"

namespace meshscope::nn {

/// down(gelu_tanh(up(x))): one layer of `mlp`, and the second half of gpt's blocks. With a norm
/// down(gelu_tanh(norm(up(x)))).
class MlpBlock final : public Layer {
  public:
    MlpBlock(std::string name, Linear* up, Linear* down, BatchNorm* norm = nullptr);

  protected:
    Variable compute(Tape& tape, Variable x) override;

  private:
    Linear* up_;
    Linear* down_;
    BatchNorm* norm_;  ///< null: none
};

/// down(silu(gate(x)) · up(x)): the second half of llama's blocks.
class SwiGlu final : public Layer {
  public:
    SwiGlu(std::string name, Linear* gate, Linear* up, Linear* down);

  protected:
    Variable compute(Tape& tape, Variable x) override;

  private:
    Linear* gate_;
    Linear* up_;
    Linear* down_;
};

}  // namespace meshscope::nn
