#pragma once

#include <memory>

#include "core/parallel/context/context_parallel.h"
#include "core/parallel/step_runner.h"
#include "core/parallel/strategy.h"
#include "core/parallel/tensor/tensor_parallel.h"
#include "core/scenario/scenario.h"

namespace meshscope::run {

/// What cuts the model's work itself, before a data strategy; null: not there.
struct ModelParallel {
    parallel::TensorParallel* tensor = nullptr;
    const parallel::ContextParallel* context = nullptr;
};

/// What turns one rank's batches into gradients, as the scenario asks: a data strategy under accumulation, or
/// a pipeline of stages with a data strategy each. `cuts` are applied to `model`, or to each stage's, before
/// the strategy. `rows` of the batch are this rank's; the scenario, `model` and what `cuts` names must
/// outlive the runner. Throws what the strategies' constructors throw.
std::unique_ptr<parallel::StepRunner> make_runner(const scenario::Scenario& scenario,
                                                  const parallel::RankContext& context, nn::Model& model,
                                                  const ModelParallel& cuts, int64_t rows);

}  // namespace meshscope::run
