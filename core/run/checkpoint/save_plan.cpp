#include "core/run/checkpoint/save_plan.h"

#include <filesystem>

#include "core/base/error.h"
#include "core/base/json_text.h"
#include "core/base/shell_word.h"
#include "core/base/toml_text.h"
#include "core/parallel/tensor/placement.h"

namespace meshscope::run::checkpoint {
namespace {

/// What to do about a folder whose newest checkpoint is `newest`: to go on from there is offered only where
/// that would be possible.
Message way_out(const std::string& newest, const scenario::Scenario& scenario, const nn::Model& model,
                const Identity& identity) {
    const std::string path = shell_word(newest);
    const std::string value = toml_string(newest);
    try {
        static_cast<void>(Checkpoint(newest, identity, scenario, model));
        return {"checkpoint.hint.folder_in_use", {{"path", path}, {"value", value}}};
    } catch (const InputError& error) {
        const Message& reason = error.diagnostics().front().message;
        if (reason.id == "checkpoint.nothing_left")
            return {"checkpoint.hint.folder_finished",
                    {{"path", path}, {"value", value}, {"done", *reason.find("done")}}};
    } catch (const Error&) {
        // It cannot even be read: another folder is the only way.
    }
    return {"checkpoint.hint.other_folder", {}};
}

}  // namespace

SavePlan plan_saving(const scenario::Scenario& scenario, const nn::Model& model, const Identity& identity,
                     const Checkpoint* before, bool own_folder) {
    // A manifest has a member for each array, and no reader takes more of them.
    if (const int64_t arrays = std::ssize(model.all_parameters()); arrays > kMostJsonMembers)
        throw InvalidArgument(
            {"checkpoint.too_many_arrays", {{"arrays", arrays}, {"most", kMostJsonMembers}}});
    SavePlan plan;
    plan.settings = scenario.checkpoint;
    plan.lock = std::make_unique<FolderLock>();
    plan.header.kind = scenario.checkpoint.sharded ? "sharded" : "rank0";
    plan.header.world_size = scenario::world_size(scenario);
    plan.header.mesh_shape = scenario.mesh_shape;
    plan.header.mesh_names = scenario.mesh_names;
    plan.header.strategy = strategy_word(scenario);
    plan.header.identity = identity;
    bool goes_on_inside = own_folder;
    if (before) {
        const Manifest& manifest = before->manifest();
        plan.header.losses = manifest.losses;
        plan.header.grad_norms = manifest.grad_norms;
        std::error_code error;
        const std::filesystem::path from = std::filesystem::path(before->folder()).parent_path();
        if (std::filesystem::equivalent(from, scenario.checkpoint.folder, error)) {
            plan.saved = manifest.steps;
            goes_on_inside = true;
        }
    }
    if (const auto others = complete_checkpoints(scenario.checkpoint.folder);
        !goes_on_inside && !others.empty())
        refuse(scenario.checkpoint.folder, {"checkpoint.folder_in_use", {{"newest", others.back()}}},
               way_out(others.back(), scenario, model, identity));
    refuse_taken_places(scenario.checkpoint.folder, plan.saved, scenario.steps, scenario.checkpoint.every);
    for (const auto& parameter : model.all_parameters())
        plan.parameters.push_back({parameter->name, parallel::whole_shape(*parameter), {}});
    return plan;
}

}  // namespace meshscope::run::checkpoint
