#pragma once

#include <string>

#include "core/nn/layers/attention.h"

namespace meshscope::nn {

/// x ← x + attn(ln1(x)), x ← x + mlp(ln2(x)): one block of gpt and of llama, which differ in the norms and in
/// the mlp. Norms may also stand behind attention and mlp: x ← x + after(attn(before(x))).
class TransformerBlock final : public Layer {
  public:
    /// The norms of one half of the block; either may be null, not both.
    struct Norms {
        Layer *before = nullptr, *after = nullptr;
    };
    TransformerBlock(std::string name, Norms ln1, Attention* attn, Norms ln2, Layer* mlp);
    Attention& attention() const { return *attn_; }

  protected:
    Variable compute(Tape& tape, Variable x) override;

  private:
    Norms ln1_;
    Attention* attn_;
    Norms ln2_;
    Layer* mlp_;
};

}  // namespace meshscope::nn
