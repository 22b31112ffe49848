#pragma once

#include <cstdint>
#include <vector>

#include "core/parallel/strategy.h"

namespace meshscope::parallel {

/// [train] loss_mean: how the losses of a step's micro-batches, on all data-parallel ranks, become one where
/// targets may count nothing (tensor::kIgnoredTarget).
enum class LossMean : uint8_t {
    tokens,        ///< Σ over all tokens that count / how many these are in the global batch
    microbatches,  ///< the mean of the micro-batches' own means
};

/// The loss of one rank's step, over its micro-batches.
///
/// With N tokens that count in the global batch, and gradients that are averaged over D ranks (of the data
/// dims, and cp), LossMean::tokens makes a micro-batch's loss D/N · Σ of its tokens' cross-entropies, so that
/// the mean over the D ranks of their sums is the global batch's mean: num_items_in_batch of transformers'
/// Trainer, which multiplies by the number of processes too; torchtitan's global_valid_tokens, which sums
/// gradients over ranks instead. It is computed in float32 of whatever logits, as both do. N is counted ahead
/// of the step's first forward: one all_reduce of one int64 along each of the groups ("loss.count_tokens").
class StepLoss {
  public:
    struct Options {
        bool some_ignored = false;  ///< false: every target counts, and there is nothing to count
        LossMean mean = LossMean::tokens;
        std::vector<comm::ProcessGroup*> averaged{};  ///< over whose ranks gradients are averaged
    };

    /// Of `microbatches` a step. `context` outlives it.
    StepLoss(const RankContext& context, Options options, int32_t microbatches);

    /// Before the first forward of a step, with all of this rank's targets. Every rank that has targets calls
    /// it.
    void begin(const Tensor& targets);
    /// Before a micro-batch's criterion, with its targets.
    void prepare(nn::Model& model, const Tensor& targets) const;
    /// What backward starts from, at a micro-batch's loss.
    float seed() const;
    /// The step's loss, from the sum of its micro-batches' losses.
    double of_step(double sum) const;

  private:
    bool by_tokens() const { return options_.some_ignored && options_.mean == LossMean::tokens; }

    const RankContext& context_;
    Options options_;
    int32_t microbatches_;
    double divisor_ = 0;  ///< LossMean::tokens: N / D
};

/// How many of the targets count. Waits for the device they lie on.
int64_t count_targets(const Tensor& targets);

}  // namespace meshscope::parallel
