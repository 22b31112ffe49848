#pragma once

#include <memory>

#include "core/parallel/step_runner.h"
#include "core/parallel/strategy.h"
#include "core/scenario/scenario.h"

namespace meshscope::run {

/// What turns one rank's batches into gradients, as the scenario asks: a data strategy under accumulation, or
/// a pipeline of stages with a data strategy each. `rows` of the batch are this rank's; the scenario and
/// `model` must outlive the runner. Throws what the strategies' constructors throw.
std::unique_ptr<parallel::StepRunner> make_runner(const scenario::Scenario& scenario,
                                                  const parallel::RankContext& context, nn::Model& model,
                                                  int64_t rows);

}  // namespace meshscope::run
