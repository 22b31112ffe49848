#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "core/nn/optim/optimizer.h"
#include "core/parallel/context/context_parallel.h"
#include "core/parallel/step_runner.h"
#include "core/parallel/strategy.h"
#include "core/parallel/tensor/tensor_parallel.h"
#include "core/run/evaluate.h"
#include "core/run/rank_result.h"

namespace meshscope::run {

/// What one rank trains: the model and all that the scenario lays around it, tensor and context parallelism,
/// the data strategy under accumulation or a pipeline of stages with a data strategy each, the optimizer.
class Training {
  public:
    /// Everything without values; load() comes next. The plan and `context` outlive it. Throws what the
    /// strategies' constructors throw.
    Training(const RunPlan& plan, const parallel::RankContext& context);
    Training(const Training&) = delete;
    Training& operator=(const Training&) = delete;

    /// Puts the first values in place, and makes the optimizer over them.
    void load(const parallel::InitialValues& values);

    const nn::Model& model() const { return *model_; }
    parallel::StepRunner& runner() { return *runner_; }
    nn::Optimizer& optimizer() { return *optimizer_; }
    parallel::TensorParallel* tensor_parallel() { return tensor_parallel_.get(); }
    const parallel::ContextParallel* context_parallel() const { return context_parallel_.get(); }
    const std::optional<Evaluator>& evaluator() const { return evaluator_; }  ///< none: nothing is evaluated

    const DataPlace& place() const { return place_; }
    int64_t rows() const { return rows_; }  ///< of the global batch, this rank's

    /// Whether this rank tells the progress: the first that knows the loss.
    bool reports() const;
    /// Whether this rank hands over its part of a parameter. Where no data strategy divides the work, the
    /// first of the ranks that all do the same answers; of a tp group rank 0, where the parameter was not
    /// cut.
    bool answers_for(const parallel::LocalParameter& local) const;
    /// The numbers of every parameter that this rank answers for. Cost: a copy of them.
    std::vector<ParameterPart> parts();

    /// Whether this rank's data reach that far; with uneven inputs others may go on without it.
    bool has_batch(int32_t step) const;
    /// The highest data-parallel rank that has a batch in that step; 0 where none has.
    GroupRank last_joiner(int32_t step) const;

  private:
    std::unique_ptr<parallel::StepRunner> make_runner();
    parallel::StepLoss::Options loss_options() const;
    std::unique_ptr<parallel::Strategy> parallelize(nn::Model& part) const;
    bool norms_lie_apart(int64_t tp_ranks) const;
    bool is_first_along(std::size_t mesh_dim) const { return coordinate_[mesh_dim] == 0; }

    // In the order they must be torn down from the end.
    const RunPlan& plan_;
    const parallel::RankContext& context_;
    const parallel::Declaration& strategy_;
    std::vector<int64_t> coordinate_;
    DataPlace place_;
    int64_t rows_ = 1;
    std::unique_ptr<nn::Model> model_;
    std::unique_ptr<parallel::TensorParallel> tensor_parallel_;    ///< null: the mesh has no tp dim
    std::unique_ptr<parallel::ContextParallel> context_parallel_;  ///< null: the mesh has no cp dim
    std::optional<Evaluator> evaluator_;
    std::unique_ptr<parallel::StepRunner> runner_;
    std::unique_ptr<nn::Optimizer> optimizer_;
};

}  // namespace meshscope::run
