#pragma once

#include <optional>
#include <string_view>

#include "core/nn/tape.h"

namespace meshscope::nn {

/// The mean over all elements of (prediction - target)²: one element. Keeps both. No gradient flows into
/// `target`. Events "mse", "mse.backward".
Variable mse(Tape& tape, Variable prediction, const Tensor& target);

/// How the losses of a batch's rows are combined into one.
struct LossForm {
    std::optional<double> divisor{};  ///< of their sum; none: the number of rows
    bool float32 = false;  ///< the loss of 16-bit logits is that of the same in float32, and float32 itself

    double divisor_of(const Tensor& targets) const {
        return divisor.value_or(static_cast<double>(targets.n_elements()));
    }
    DType dtype_of(const Tensor& logits) const { return float32 ? DType::float32 : logits.dtype(); }
};

/// What Tape::watch() is told of a loss over rows none of which counts: NaN, as torch's cross_entropy gives.
inline constexpr std::string_view kLossOfNothing = "cross_entropy of no targets";

/// The mean over all rows of log Σ exp(logits) - logits[target], where logits (…, classes) and targets (…)
/// int64: torch's cross_entropy; or what `form` makes of them. Rows whose target is tensor::kIgnoredTarget
/// count nothing. Keeps the logits, their log-sum-exp (one number a row) and the targets. A target that is no
/// class throws InvalidArgument ("kernel.index"). Events "cross_entropy", "cross_entropy.backward".
Variable cross_entropy(Tape& tape, Variable logits, const Tensor& targets, const LossForm& form = {});

}  // namespace meshscope::nn
