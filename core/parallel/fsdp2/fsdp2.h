#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/parallel/fsdp2/options.h"
#include "core/parallel/fsdp2/unit.h"
#include "core/parallel/strategy.h"
#include "core/parallel/units.h"

namespace meshscope::parallel {

/// PyTorch's fully_shard on a 1-D mesh (FSDP) or a 2-D one (HSDP: dim 0 replicate, dim 1 shard): the same
/// code, HSDP only adds an all_reduce of the sharded gradients over the replicate group.
///
/// Per unit and micro-batch: all_gather before forward, freed after; all_gather before backward, the next one
/// in reverse order prefetched; after backward freed again and, in the last micro-batch, reduce_scatter (and
/// all_reduce). Source: torch/distributed/fsdp/_fully_shard/_fsdp_state.py, _fsdp_param_group.py.
class Fsdp2 final : public Strategy {
  public:
    Fsdp2(const RankContext& context, nn::Model& model, Fsdp2Options options);
    ~Fsdp2() override;

    void load(const InitialValues& values) override;
    void before_forward(const Pass& pass) override;
    Tensor input(const Tensor& x) override { return cast_input(x, options_.precision.param, context_); }
    void attach(nn::Tape&) override {}
    void after_backward(const Pass& pass) override;
    /// As in PyTorch its units stand in the order in which the next backward prefetches, before those of that
    /// backward's own forward: the unit that ran first there prefetches the one that ran last here, which may
    /// be a gather that nobody waits for.
    void before_evaluation(int32_t step) override { before_forward({step, 0, false}); }
    void before_backward(const Pass& pass) override;
    void reduce_gradients() override;
    void unshard() override;
    void reshard() override;
    const std::vector<LocalParameter>& local_parameters() const override { return local_; }
    std::vector<Tensor> gradients() const override;
    double gradient_norm() override;
    void after_step() override;

  private:
    /// A unit and where its modules stand in the present pass.
    struct State {
        std::unique_ptr<Unit> unit;
        std::size_t index = 0;  ///< in states_
        ReshardAfterForward after_forward;
        std::vector<nn::Module*> modules;
        bool is_root = false;
        std::size_t ran_forward = 0, ran_backward = 0;
        bool put_off = false;  ///< its backward is over, what follows waits for the root's
        std::vector<std::size_t> post_forward_indices;  ///< its places in post_forward_order_
    };

    void add_unit(UnitPlan plan);
    void order_by_modules();
    ReshardAfterForward after_forward_of(const UnitPlan& plan, std::size_t index) const;
    void pre_forward(State& state);
    void post_forward(State& state);
    void pre_backward(State& state);
    void post_backward(State& state);
    void end_backward(State& state);
    void prefetch_before(State& state);
    void prefetch_neighbours(const State& state, int32_t units, int64_t direction, std::string_view rule);

    RankContext context_;
    nn::Model& model_;
    Fsdp2Options options_;
    UnitComm comm_;
    std::vector<std::unique_ptr<State>> states_;  ///< the root last
    std::vector<State*> in_module_order_;         ///< all but the root, by their first modules
    std::vector<LocalParameter> local_;           ///< in the order of Model::parameters()
    std::vector<std::pair<std::size_t, std::size_t>>
        source_;  ///< local_[i] is parameter second of unit first
    std::vector<State*> post_forward_order_;
    bool sync_ = true;
};

}  // namespace meshscope::parallel
