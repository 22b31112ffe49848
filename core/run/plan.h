#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/comm/interleaving_scheduler.h"
#include "core/comm/stream_executor.h"
#include "core/mesh/device_mesh.h"
#include "core/nn/model.h"
#include "core/run/checkpoint/load.h"
#include "core/run/checkpoint/save_plan.h"
#include "core/run/groups.h"
#include "core/run/run.h"
#include "core/run/sources.h"

namespace meshscope::run {

/// What a run goes on from, and how it saves.
struct Checkpoints {
    std::unique_ptr<const checkpoint::Checkpoint> resumed;
    checkpoint::SavePlan save;
};

/// What the ranks work on, opened and checked.
struct RunInputs {
    std::unique_ptr<const nn::Model> model;  ///< whole, without values; null: nothing is trained
    Checkpoints checkpoints;
    std::unique_ptr<const parallel::InitialValues> drawn;  ///< null: a checkpoint has the first values
    std::unique_ptr<const Batches> batches;

    const parallel::InitialValues& first_values() const {
        if (drawn) return *drawn;
        return *checkpoints.resumed;
    }
};

/// What a scenario means, checked, before any rank is there. Every rank reads it and none writes it; what
/// ranks make is in their RankResults, and what they decide together in RunControl (rank.h).
struct RunPlan {
    scenario::Scenario scenario;
    RunOptions options;
    mesh::DeviceMesh mesh;
    GroupTable groups;
    std::vector<int32_t> node_of_rank;  ///< run::node_of_rank
    std::shared_ptr<const RunInputs> inputs;
    trace::Level level = trace::Level::off;
    bool checked = false;   ///< see RunOptions::checked
    bool saves = false;     ///< checkpoints, as inputs->checkpoints.save says
    bool dry = false;       ///< on a device without memory, in groups without peers
    bool searches = false;  ///< every rank looks at what it makes for the first number that is not finite

    // Known when the world is open.
    std::string backend;  ///< its name as the record has it
    comm::StreamExecutor::Mode executor_mode = comm::StreamExecutor::Mode::inline_in_wait;

    int32_t world_size() const { return scenario::world_size(scenario); }
    /// Whether ranks hand over their parts of the parameters at the end: not when nobody asks for them.
    bool wants_parameters() const { return !dry && !searches; }
};

/// The backend that a run is made on: what the options name, else the scenario, else threads.
std::string backend_of(const scenario::Scenario& scenario, const RunOptions& options);

/// The plan of a run: opens every file that the scenario names (weights, batches, the checkpoint to resume).
/// Throws InputError, IoError and InvalidArgument for what cannot be read or does not belong to it,
/// InvalidArgument ("run.dtype_backend", "run.too_many_ranks", "run.does_not_fit…").
RunPlan plan_run(const scenario::Scenario& scenario, const RunOptions& options);

/// The plan of a dry run of at most `steps` steps; 0: all of them. No file is opened.
RunPlan plan_dry_run(const scenario::Scenario& scenario, int32_t steps);

/// The plan of a second run of the steps up to `step`, the first whose numbers were not finite: nothing is
/// recorded or saved, every rank looks for the op that made them.
RunPlan plan_search(const RunPlan& first, int32_t step);

/// The scenario's mesh over its world.
mesh::DeviceMesh build_mesh(const scenario::Scenario& scenario);

/// Which node each rank of the world stands on: as [hardware] says, else one node a row of a 2-D or larger
/// mesh, else one for all; where the profile knows how many devices a machine has and that would be more, as
/// many as it has, counted from rank 0.
std::vector<int32_t> node_of_rank(const scenario::Scenario& scenario, const mesh::DeviceMesh& mesh);

/// What a planned run is, before it has run: everything of RunInfo but steps, losses and gradient norms.
trace::RunInfo describe_run(const RunPlan& plan);

}  // namespace meshscope::run
