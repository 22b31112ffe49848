#pragma once

#include <string>

#include "core/nn/layers/attention.h"

namespace meshscope::nn {

/// x ← x + attn(ln1(x)), x ← x + mlp(ln2(x)): one block of gpt and of llama, which differ in the norms and in
/// the mlp.
class TransformerBlock final : public Layer {
  public:
    TransformerBlock(std::string name, Layer* ln1, Attention* attn, Layer* ln2, Layer* mlp);
    Attention& attention() const { return *attn_; }

  protected:
    Variable compute(Tape& tape, Variable x) override;

  private:
    Layer* ln1_;
    Attention* attn_;
    Layer* ln2_;
    Layer* mlp_;
};

}  // namespace meshscope::nn
