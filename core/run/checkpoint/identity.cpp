#include "core/run/checkpoint/identity.h"

#include <filesystem>
#include <fstream>

#include "core/base/crc32c.h"
#include "core/base/error.h"
#include "core/base/json_text.h"
#include "core/base/shell_word.h"
#include "core/parallel/tensor/placement.h"
#include "core/run/checkpoint/folder.h"
#include "core/scenario/keys.h"

namespace meshscope::run::checkpoint {
namespace {

/// A file by its content, wherever it lies.
std::string content_of(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    Crc32c crc;
    int64_t bytes = 0;
    std::vector<char> block(1 << 20);
    while (in.read(block.data(), static_cast<std::streamsize>(block.size())), in.gcount() > 0) {
        crc.add(block.data(), static_cast<std::size_t>(in.gcount()));
        bytes += in.gcount();
    }
    return std::to_string(bytes) + " bytes, crc32c " + std::to_string(crc.value());
}

/// What to do about a folder whose newest checkpoint is `newest`: to go on from there is offered only where
/// that would be possible.
Message way_out(const std::string& newest, const scenario::Scenario& scenario, const nn::Model& model,
                const Identity& identity) {
    const std::string path = shell_word(newest);
    try {
        static_cast<void>(Checkpoint(newest, identity, scenario, model));
        return {"checkpoint.hint.folder_in_use", {{"path", path}}};
    } catch (const InputError& error) {
        const Message& reason = error.diagnostics().front().message;
        if (reason.id == "checkpoint.nothing_left")
            return {"checkpoint.hint.folder_finished", {{"path", path}, {"done", *reason.find("done")}}};
    } catch (const Error&) {
        // It cannot even be read: another folder is the only way.
    }
    return {"checkpoint.hint.other_folder", {}};
}

}  // namespace

Identity identity_of(const scenario::Scenario& scenario) {
    Identity identity{{"model.kind", scenario.model.kind}};
    const auto add = [&](const char* key, int64_t value) {
        identity.emplace_back(key, std::to_string(value));
    };
    // As the file has them, so that no key of a model to come is forgotten here.
    for (const auto& [key, value] : scenario::entries(scenario, "model"))
        if (key != "kind" && key != "seed" && key != "weights") identity.emplace_back("model." + key, value);
    if (!scenario.data_file.empty()) {
        identity.emplace_back("data.file", content_of(scenario.data_file));
    } else {
        identity.emplace_back("data.kind", scenario.data_kind);
        add("data.samples", scenario.data_samples);
        identity.emplace_back("data.seed", std::to_string(scenario.data_seed));
        if (scenario.data_sampler) {
            identity.emplace_back("data.sampler", "distributed");
            identity.emplace_back("data.shuffle", scenario.data_shuffle ? "true" : "false");
            identity.emplace_back("data.drop_last", scenario.data_drop_last ? "true" : "false");
        }
    }
    add("train.global_batch", scenario.global_batch);
    identity.emplace_back("optimizer.kind", scenario.optimizer.kind);
    if (scenario.optimizer.kind == "sgd")
        identity.emplace_back("optimizer.momentum", scenario.optimizer.momentum == 0.0 ? "none" : "some");
    return identity;
}

std::string strategy_word(const scenario::Scenario& scenario) {
    const parallel::Declaration& strategy = parallel::declaration(scenario.parallel.data);
    std::string word(strategy.word);
    if (strategy.state_word != nullptr)
        word += ", " + strategy.state_word(scenario.parallel, scenario::data_parallel_size(scenario));
    if (const auto& pipeline = scenario.parallel.pipeline)
        word += ", " + std::to_string(pipeline->stages()) + " stages";
    return word;
}

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
