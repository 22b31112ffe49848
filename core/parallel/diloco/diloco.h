#pragma once

#include <string>
#include <vector>

#include "core/parallel/diloco/options.h"
#include "core/parallel/strategy.h"

namespace meshscope::parallel {

/// LocalSGD (arXiv 1805.09767, torchft/local_sgd.py LocalSGD): every rank of the replicate dim is a replica
/// that trains on its own part of the batch with its own optimizer; no gradient travels. Every `sync_every`
/// steps, after the optimizer's step, the replicas' parameters are averaged by one all_reduce (AVG). The
/// optimizers' states are not averaged. Between two synchronisations the replicas' parameters differ.
///
/// Sent a rank: as DDP's all_reduce, 2·(N-1)/N · 4Ψ bytes, but in one of `sync_every` steps. While it lasts,
/// 4Ψ bytes more (MemoryCategory::communication).
class LocalSgd : public Strategy {
  public:
    /// `model` outlives it. `context.groups` has one group, the replicas'.
    LocalSgd(const RankContext& context, nn::Model& model, const DilocoOptions& options);

    /// Every replica reads the same first values: nothing travels.
    void load(const InitialValues& values) override;
    void before_forward(const Pass&) override {}
    void attach(nn::Tape&) override {}
    void after_backward(const Pass&) override {}
    const std::vector<LocalParameter>& local_parameters() const override { return local_; }
    std::vector<Tensor> gradients() const override;
    /// Of this replica's gradients alone: each replica clips its own.
    double gradient_norm() override;
    void after_step() override;
    /// The steps done, which say when the next synchronisation is due.
    std::vector<int64_t> remembered() const override { return {steps_}; }
    void remember(std::span<const int64_t> numbers) override;

  protected:
    /// What is due when the optimizer has made step `steps_` (counted from 1).
    virtual void synchronise();
    comm::ProcessGroup& group() { return *context_.groups.at(0); }
    const tensor::Kernels& kernels() const { return context_.allocator->device().kernels(); }

    RankContext context_;
    nn::Model& model_;
    DilocoOptions options_;
    std::vector<LocalParameter> local_;
    int64_t steps_ = 0;
};

/// DiLoCo (arXiv 2311.08105) and Streaming DiLoCo (arXiv 2501.18512), as torchft/local_sgd.py has them.
///
/// Beside its own parameters every replica keeps the global ones, the same on all. The model is cut into
/// `fragments` runs of modules of about equal size, and every sync_every / fragments steps the next one is
/// synchronised, in turn:
/// - its pseudo-gradient, global − local parameters, is averaged over the replicas (one all_reduce, AVG);
/// - the outer optimizer, SGD with Nesterov momentum, takes one step with it on the global parameters;
/// - the local ones become global + fragment_update_alpha · (local − global), and training goes on from there
///   with the inner optimizer's state as it was.
/// With fragment_sync_delay d the pseudo-gradient is sent d steps before it is due: training overlaps with
/// the all_reduce, and the updates made meanwhile are part of the local parameters.
///
/// Kept beside the inner optimizer's state: 4 bytes a parameter for the global ones, 4 for the momentum, and
/// of the fragment in flight 4 for the pseudo-gradient (MemoryCategory::communication). Ψ: the parameters of
/// a rank. Sent a rank in sync_every steps: 2·(N-1)/N · 4Ψ bytes.
class Diloco final : public LocalSgd {
  public:
    Diloco(const RankContext& context, nn::Model& model, const DilocoOptions& options);

    void load(const InitialValues& values) override;
    void remember(std::span<const int64_t> numbers) override;
    /// "global", "outer_momentum" where there is one, and with a delay "pseudogradient": averaged, of the
    /// fragment that is under way, undefined for the others. Waits for it.
    std::vector<KeptState> kept() override;

  private:
    /// A run of modules that is synchronised together. Its arrays hold the parameters one behind the other.
    struct Fragment {
        std::string name;  ///< "fragment 0"
        std::vector<nn::Parameter*> parameters;
        std::vector<int64_t> first;  ///< where each begins
        int64_t elements = 0;
        Tensor global, momentum;
        Tensor pseudogradient;  ///< from when it leaves until the outer step
        comm::Work work;
        Tensor part(const Tensor& of, std::size_t i) const;
    };

    void synchronise() override;
    /// Steps between two synchronisations, of different fragments.
    int64_t period() const { return options_.sync_every / options_.fragments; }
    /// The fragment whose turn it is in step `steps` (from 1); null: a pipeline's stage has no such one.
    Fragment* in_turn(int64_t steps);
    void send(Fragment& fragment);
    void update(Fragment& fragment);
    Tensor make(const Fragment& fragment, const char* what, MemoryCategory category) const;

    std::vector<Fragment> fragments_;
};

/// The model's modules that hold parameters, cut into at most `fragments` runs of about as many elements:
/// the parameters of each, in the model's order. Fewer where there are fewer modules.
std::vector<std::vector<nn::Parameter*>> cut_into_fragments(const nn::Model& model, int64_t fragments);

}  // namespace meshscope::parallel
