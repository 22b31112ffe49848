#pragma once

#include <memory>

#include "core/parallel/context/context_parallel.h"
#include "core/parallel/step_runner.h"
#include "core/parallel/strategy.h"
#include "core/scenario/scenario.h"

namespace meshscope::run {

/// What turns one rank's batches into gradients, as the scenario asks: a data strategy under accumulation, or
/// a pipeline of stages with a data strategy each. Before the strategy, `context_parallel` (null: none) is
/// applied to `model`, or to each stage's. `rows` of the batch are this rank's; the scenario, `model` and
/// `context_parallel` must outlive the runner. Throws what the strategies' constructors throw.
std::unique_ptr<parallel::StepRunner> make_runner(const scenario::Scenario& scenario,
                                                  const parallel::RankContext& context, nn::Model& model,
                                                  const parallel::ContextParallel* context_parallel,
                                                  int64_t rows);

}  // namespace meshscope::run
