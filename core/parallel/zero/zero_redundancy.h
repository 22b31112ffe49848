#pragma once

#include <optional>
#include <span>
#include <vector>

#include "core/parallel/ddp/ddp.h"
#include "core/parallel/strategy.h"

namespace meshscope::parallel {

/// Which positions of `elements` each rank updates: the largest first, each to the rank that has the fewest
/// elements so far (the lowest of those). Source: ZeroRedundancyOptimizer._partition_parameters.
///
/// Example: 100, 50, 10, 5 on 4 ranks go one each.
std::vector<std::vector<std::size_t>> partition_by_size(std::span<const int64_t> elements, int64_t ranks);

/// DDP with torch.distributed.optim.ZeroRedundancyOptimizer: gradients are all_reduced whole as in DDP, each
/// rank updates the parameters it owns, then every parameter is broadcast by its owner. ZeRO stage 1 with
/// whole parameters as parts: simpler, but 2·(N-1)/N for the gradients and a full broadcast on top.
class ZeroRedundancy final : public Strategy {
  public:
    ZeroRedundancy(const RankContext& context, nn::Model& model, DdpOptions ddp);

    void load(const InitialValues& values) override;
    void before_forward(const Pass& pass) override { ddp_.before_forward(pass); }
    void attach(nn::Tape& tape) override { ddp_.attach(tape); }
    void before_backward(const Pass& pass) override { ddp_.before_backward(pass); }
    void after_backward(const Pass& pass) override { ddp_.after_backward(pass); }
    const std::vector<LocalParameter>& local_parameters() const override { return local_; }
    std::vector<Tensor> gradients() const override;
    /// DDP's, without a collective: every rank has the whole gradients. Beside tensor parallelism the tp
    /// ranks have summed their shares of those only that a rank owns; so the ranks sum the squares of what
    /// they own.
    double gradient_norm() override;
    void after_step() override;
    std::vector<int64_t> remembered() const override { return ddp_.remembered(); }
    void remember(std::span<const int64_t> arrival) override { ddp_.remember(arrival); }

  private:
    RankContext context_;
    comm::ProcessGroup& group_;
    nn::Model& model_;
    Ddp ddp_;
    std::vector<std::vector<std::size_t>> parts_;  ///< by group rank: parameter indices
    std::vector<LocalParameter> local_;            ///< this rank's
};

}  // namespace meshscope::parallel
