#pragma once

#include <memory>

#include "core/parallel/step_loss.h"
#include "core/parallel/step_runner.h"

namespace meshscope::parallel {

/// The whole model on every rank: `microbatches` equal parts of the rows, one after the other, each loss
/// divided by their number; gradients travel in the last. One micro-batch is plain training.
class Accumulate final : public StepRunner {
  public:
    /// `model` outlives it.
    Accumulate(const RankContext& context, nn::Model& model, std::unique_ptr<Strategy> strategy,
               int32_t microbatches, StepLoss::Options loss = {});

    void load(const InitialValues& values) override { strategy_->load(values); }
    const std::vector<LocalParameter>& local_parameters() const override {
        return strategy_->local_parameters();
    }
    std::optional<double> run(int32_t step, const Tensor& x, const Tensor& y) override;
    std::vector<float> evaluate(int32_t step, const Tensor& x, const Tensor& y) override;
    void shadow(int32_t step) override {
        for (int32_t m = 0; m < microbatches_; ++m) strategy_->shadow({step, m, m + 1 == microbatches_});
    }
    void finish(bool had_batch, GroupRank last_joiner) override {
        strategy_->finish(had_batch, last_joiner);
    }
    std::vector<Tensor> gradients() const override { return strategy_->gradients(); }
    double gradient_norm() override { return strategy_->gradient_norm(); }
    void after_step() override { strategy_->after_step(); }
    std::vector<int64_t> remembered() const override { return strategy_->remembered(); }
    void remember(std::span<const int64_t> state) override { strategy_->remember(state); }
    std::vector<KeptState> kept() override { return strategy_->kept(); }

  private:
    double run_microbatch(const Pass& pass, const Tensor& x, const Tensor& y);

    RankContext context_;
    nn::Model& model_;
    std::unique_ptr<Strategy> strategy_;
    int32_t microbatches_;
    StepLoss loss_;
};

}  // namespace meshscope::parallel
