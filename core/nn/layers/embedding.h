#pragma once

#include <string>

#include "core/nn/layers/layer.h"

namespace meshscope::nn {

/// Rows of a table by index: torch.nn.Embedding. weight (rows, dim); x: int64 indices (…) → (…, dim).
///
/// Keeps the indices. Where the weight's box is a part of the rows, other parts' indices give rows of zero,
/// so that map_output can add the parts up. Events "embedding", "embedding.backward". An index outside of a
/// whole table throws InvalidArgument ("kernel.index").
class Embedding final : public Layer {
  public:
    Embedding(std::string name, Parameter* weight);
    Parameter& weight() const { return *weight_; }

  protected:
    Variable compute(Tape& tape, Variable x) override;

  private:
    bool is_part() const { return weight_->box.cut() && weight_->box.tensor_dim == 0; }
    Parameter* weight_;
};

}  // namespace meshscope::nn
