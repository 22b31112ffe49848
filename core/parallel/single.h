#pragma once

#include "core/parallel/strategy.h"
#include "core/parallel/working_copies.h"

namespace meshscope::parallel {

/// One rank, whole parameters, no collective: what every other strategy must equal.
class Single final : public Strategy {
  public:
    Single(const RankContext& context, nn::Model& model, const MixedPrecision& precision = {});

    void load(const InitialValues& values) override;
    void before_forward(const Pass&) override {}
    Tensor input(const Tensor& x) override;
    void attach(nn::Tape& tape) override;
    void after_backward(const Pass& pass) override;
    const std::vector<LocalParameter>& local_parameters() const override { return local_; }
    std::vector<Tensor> gradients() const override;
    double gradient_norm() override;
    void after_step() override;

  private:
    RankContext context_;
    nn::Model& model_;
    WorkingCopies copies_;
    std::vector<LocalParameter> local_;
};

}  // namespace meshscope::parallel
