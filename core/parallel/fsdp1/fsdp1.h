#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "core/parallel/fsdp1/flat_unit.h"
#include "core/parallel/fsdp1/options.h"
#include "core/parallel/strategy.h"
#include "core/parallel/units.h"

namespace meshscope::parallel {

/// PyTorch's FullyShardedDataParallel: each unit's parameters are one flat array, cut evenly over the ranks.
///
/// Per unit and micro-batch: all_gather before forward, freed after (full_shard, hybrid_shard), gathered
/// again before backward, freed after; in the last micro-batch the gradients are reduce_scattered, and with
/// hybrid sharding all_reduced across the replicas. The root unit holds what no other does and stays whole
/// between forward and backward. Source: torch/distributed/fsdp/_runtime_utils.py,
/// fully_sharded_data_parallel.py.
///
/// All gathers and scatters of a rank go through one process group, so they run in the order issued: that is
/// what `backward_prefetch` is about.
class Fsdp1 final : public Strategy {
  public:
    /// Throws InvalidArgument: "fsdp1.mesh_ndim" (hybrid strategies need the dims replicate and shard, the
    /// others one), "fsdp1.hybrid_shard_of_one", and what plan_units throws.
    Fsdp1(const RankContext& context, nn::Model& model, Fsdp1Options options);
    ~Fsdp1() override;

    void load(const InitialValues& values) override;
    void before_forward(const Pass& pass) override;
    Tensor input(const Tensor& x) override { return cast_input(x, options_.precision.param, context_); }
    void attach(nn::Tape&) override {}
    void after_backward(const Pass& pass) override;
    void before_evaluation(int32_t step) override { before_forward({step, 0, false}); }
    const std::vector<LocalParameter>& local_parameters() const override { return local_; }
    std::vector<Tensor> gradients() const override;
    /// √ of the squares of all shards, summed by one all_reduce of one float over the shard group.
    double gradient_norm() override;
    void after_step() override;

  private:
    /// A unit and where its modules stand in the present pass.
    struct State {
        std::unique_ptr<FlatUnit> unit;
        std::vector<nn::Module*> modules;
        bool is_root = false;
        std::size_t ran_forward = 0, ran_backward = 0;
        bool needs_forward_unshard = false, needs_backward_unshard = false, prefetched = false;
    };

    void choose_groups();
    void pre_forward(State& state);
    void post_forward(State& state);
    void pre_backward(State& state);
    void post_backward(State& state);
    void unshard(State& state, std::string_view rule, bool prefetch);
    void reshard(State& state, bool frees);
    void prefetch_forward(const State& state);
    void prefetch_backward(const State& state);

    RankContext context_;
    nn::Model& model_;
    Fsdp1Options options_;
    FlatComm comm_;
    std::vector<std::unique_ptr<State>> states_;  ///< the root last
    std::vector<LocalParameter> local_;           ///< unit by unit, piece by piece
    std::vector<State*> pre_forward_order_;       ///< of the first pass
    bool first_pass_ = true;
    std::vector<State*> post_forward_order_;
    std::deque<int32_t> frees_;  ///< limit_all_gathers: compute events after which a unit's memory was free
    FlatUnit* reducing_ = nullptr;
    bool sync_ = true;
};

}  // namespace meshscope::parallel
