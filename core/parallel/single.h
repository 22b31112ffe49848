#pragma once

#include "core/parallel/strategy.h"

namespace meshscope::parallel {

/// One rank, whole parameters, no collective: what every other strategy must equal.
class Single final : public Strategy {
  public:
    Single(const RankContext& context, nn::Model& model);

    void load(const InitialValues& values) override;
    void before_forward(const Pass&) override {}
    void attach(nn::Tape&) override {}
    void after_backward(const Pass&) override {}
    const std::vector<LocalParameter>& local_parameters() const override { return local_; }
    std::vector<Tensor> gradients() const override;
    double gradient_norm() override;
    void after_step() override;

  private:
    RankContext context_;
    nn::Model& model_;
    std::vector<LocalParameter> local_;
};

}  // namespace meshscope::parallel
