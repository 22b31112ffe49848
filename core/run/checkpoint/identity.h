#pragma once

#include "core/run/checkpoint/load.h"
#include "core/run/checkpoint/save.h"

namespace meshscope::run::checkpoint {

/// What a scenario must share with the checkpoint it resumes, so that the training that goes on is the
/// training that began: the model, the data and their order, the global batch, the optimizer. Mesh,
/// strategy, learning rate and number of steps may differ. Cost: reads the data file for its checksum.
Identity identity_of(const scenario::Scenario& scenario);

/// What strategy state belongs to: the data strategy's word, "ddp", and in a pipeline "ddp, 4 stages".
std::string strategy_word(const scenario::Scenario& scenario);

/// The plan of a run's saving. `before`: what is resumed, or null. Throws InputError
/// ("checkpoint.folder_in_use") where a run that does not go on from this folder would mix its checkpoints with
/// others', unless those are its own from an earlier try (`own_folder`).
SavePlan plan_saving(const scenario::Scenario& scenario, const nn::Model& model, const Identity& identity,
                     const Checkpoint* before, bool own_folder = false);

}  // namespace meshscope::run::checkpoint
