#pragma once

#include <string>
#include <vector>

#include "core/parallel/mixed_precision.h"
#include "core/parallel/strategy.h"

namespace meshscope::parallel {

/// Mixed precision of strategies that keep every parameter whole (single, DDP): the model computes with
/// copies in `param` of the float32 values that the optimizer updates, for as long as it trains, and copies
/// them anew behind each step. Fresh gradients, in `param`, are summed over micro-batches in `reduce`, and
/// given to the optimizer in float32. Under AdamW 18 bytes a parameter: 2 of the copy, 4 of the gradient, 12
/// of the optimizer. In float32 alone nothing of this happens. Source: Float16OptimizerWithFloat16Params of
/// megatron/core/optimizer/optimizer.py.
class WorkingCopies {
  public:
    WorkingCopies(const RankContext& context, nn::Model& model, const MixedPrecision& precision);

    bool active() const { return copies() || precision_.reduce != precision_.stored; }
    /// Whether the model computes in another type than the optimizer.
    bool copies() const { return precision_.param != precision_.stored; }
    const MixedPrecision& precision() const { return precision_; }
    /// In which category allocate_whole() is to put the float32 values.
    MemoryCategory values_category() const {
        return copies() ? MemoryCategory::optimizer_state : MemoryCategory::parameters;
    }

    /// Gives the model its first copies of the values in `local`. Of a frozen parameter the copy is all that
    /// stays: it becomes the value in `local`.
    void make(std::vector<LocalParameter>& local);
    /// The same again, after the optimizer's step.
    void refresh() const;
    /// Adds a parameter's fresh gradient to its sum, and frees it.
    void keep(nn::Parameter& parameter);
    /// The sum, and none is left: of what keep() was called with, and of the fresh gradient.
    Tensor take(nn::Parameter& parameter);
    /// Makes each sum that is left the parameter's gradient, in float32.
    void finish();

  private:
    RankContext context_;
    nn::Model& model_;
    MixedPrecision precision_;
    std::vector<LocalParameter> values_;  ///< of what is trained
    std::vector<Tensor> sums_;  ///< by parameter index
};

}  // namespace meshscope::parallel
