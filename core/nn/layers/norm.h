#pragma once

#include <string>

#include "core/nn/layers/layer.h"

namespace meshscope::nn {

/// y = (x - mean) / √(variance + eps) · weight + bias over the last dim: torch.nn.LayerNorm. weight, bias
/// (dim).
///
/// Keeps x, mean and rstd (two numbers a row). Events "layer_norm", "layer_norm.weight_grad",
/// "layer_norm.input_grad". Ready order: weight, bias.
class LayerNorm final : public Layer {
  public:
    LayerNorm(std::string name, Parameter* weight, Parameter* bias, double eps = 1e-5);

  protected:
    Variable compute(Tape& tape, Variable x) override;

  private:
    Parameter* weight_;
    Parameter* bias_;
    double eps_;
};

/// y = x / √(mean(x²) + eps) · weight over the last dim: torch.nn.RMSNorm. weight (dim). Where the weight has
/// fewer elements than the last dim, which they divide, over each such part of it: a head of queries.
/// Zero-centered: · (1 + weight), as Gemma has it; the sum is made anew for each use.
///
/// Keeps x and rstd (one number a row or part). Events "rms_norm", "rms_norm.weight_grad",
/// "rms_norm.input_grad".
class RmsNorm final : public Layer {
  public:
    RmsNorm(std::string name, Parameter* weight, double eps = 1e-5, bool zero_centered = false);

    /// As eager_rms_norm(); see use_ops().
    bool eager = false;

  protected:
    Variable compute(Tape& tape, Variable x) override;

  private:
    /// What x is multiplied by.
    Tensor factors(Tape& tape) const;

    Parameter* weight_;
    double eps_;
    bool zero_centered_;
};

}  // namespace meshscope::nn
