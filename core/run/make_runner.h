#pragma once

#include <memory>

#include "core/parallel/step_runner.h"
#include "core/parallel/strategy.h"
#include "core/parallel/tensor/tensor_parallel.h"
#include "core/scenario/scenario.h"

namespace meshscope::run {

/// What turns one rank's batches into gradients, as the scenario asks: a data strategy under accumulation, or
/// a pipeline of stages with a data strategy each. Before the strategy, `tensor_parallel` (null: none) cuts
/// `model`, or each stage's. `rows` of the batch are this rank's; the scenario, `model` and `tensor_parallel`
/// must outlive the runner. Throws what the strategies' constructors throw.
std::unique_ptr<parallel::StepRunner> make_runner(const scenario::Scenario& scenario,
                                                  const parallel::RankContext& context, nn::Model& model,
                                                  parallel::TensorParallel* tensor_parallel, int64_t rows);

}  // namespace meshscope::run
