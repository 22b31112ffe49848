#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "core/run/checkpoint/folder.h"
#include "core/run/checkpoint/load.h"
#include "core/run/checkpoint/manifest.h"
#include "core/scenario/scenario.h"

namespace meshscope::run::checkpoint {

/// What all ranks know of the saving before the first step.
struct SavePlan {
    scenario::Scenario::Checkpoint settings;
    /// What does not change while the run lasts; losses and grad_norms are those of the steps before it.
    Manifest header;
    /// Every parameter of the model, uncut, by index.
    std::vector<SavedTensor> parameters;       ///< PyTorch's plain names, no chunks
    int32_t saved = 0;                         ///< steps whose checkpoint lies in the folder already
    std::function<void(const Message&)> tell;  ///< takes what is no failure; may be empty
    std::unique_ptr<FolderLock> lock;  ///< taken by rank 0: at once, or with the folder's first checkpoint
};

/// The plan of a run's saving. `before`: what is resumed, or null. Throws InputError
/// ("checkpoint.folder_in_use") where a run that does not go on from this folder would mix its checkpoints
/// with others', unless those are its own from an earlier try (`own_folder`).
SavePlan plan_saving(const scenario::Scenario& scenario, const nn::Model& model, const Identity& identity,
                     const Checkpoint* before, bool own_folder = false);

}  // namespace meshscope::run::checkpoint
