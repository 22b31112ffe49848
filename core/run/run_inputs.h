#pragma once

#include <memory>

#include "core/nn/model.h"
#include "core/run/checkpoint/load.h"
#include "core/run/checkpoint/save.h"
#include "core/run/run.h"
#include "core/run/sources.h"

namespace meshscope::run {

/// What a run goes on from, and how it saves.
struct Checkpoints {
    std::unique_ptr<const checkpoint::Checkpoint> resumed;
    checkpoint::SavePlan save;
};

/// What the ranks work on.
struct RunInputs {
    std::unique_ptr<const nn::Model> model;  ///< null: nothing is trained
    Checkpoints checkpoints;
    std::unique_ptr<const parallel::InitialValues> drawn;  ///< null: a checkpoint has the first values
    std::unique_ptr<const Batches> batches;

    const parallel::InitialValues& first_values() const {
        if (drawn) return *drawn;
        return *checkpoints.resumed;
    }
};

/// Opens every file that a scenario names: weights, batches, the checkpoint to resume. Throws InputError,
/// IoError and InvalidArgument for what cannot be read or does not belong to it, before any rank is there.
RunInputs open_run_inputs(const scenario::Scenario& scenario, const RunOptions& options);

}  // namespace meshscope::run
