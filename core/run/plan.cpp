#include "core/run/plan.h"

#include <algorithm>
#include <string>
#include <utility>

#include "core/base/error.h"
#include "core/base/one_process.h"
#include "core/comm/schedule/own/own_algorithm.h"
#include "core/run/checkpoint/folder.h"
#include "core/run/fit.h"
#include "core/trace/simulated.h"

namespace meshscope::run {
namespace {

/// Refuses what no checkpoint holds. The reader refused it beside [checkpoint]; a caller may still ask to
/// resume.
void require_resumable(const scenario::Scenario& scenario) {
    const parallel::Declaration& strategy = parallel::declaration(scenario.parallel.data);
    if (strategy.unsaved != nullptr)
        for (const parallel::Refusal& refusal : strategy.unsaved(scenario.parallel))
            throw InvalidArgument(refusal.message);
    if (scenario.model.norm != nn::Norm::none) throw InvalidArgument({"scenario.norm_checkpoint", {}});
}

Checkpoints open_checkpoints(const scenario::Scenario& scenario, const RunOptions& options,
                             const nn::Model& model) {
    const bool again = options.resume == kResumeAuto;
    std::string resume = options.resume.empty() ? scenario.checkpoint.resume : options.resume;
    if (again) {
        resume = checkpoint::newest_before(scenario.checkpoint.folder, scenario.steps);
        if (resume.empty()) resume = scenario.checkpoint.resume;
    }
    Checkpoints checkpoints;
    if (resume.empty() && scenario.checkpoint.folder.empty()) return checkpoints;
    require_resumable(scenario);
    const checkpoint::Identity identity = checkpoint::identity_of(scenario);
    if (!resume.empty())
        checkpoints.resumed =
            std::make_unique<const checkpoint::Checkpoint>(resume, identity, scenario, model);
    checkpoints.save = checkpoint::plan_saving(scenario, model, identity, checkpoints.resumed.get(), again);
    checkpoints.save.tell = options.tell;
    return checkpoints;
}

/// The GPUs' kernels of the optimizer update float32 values.
void refuse_dtype(const scenario::Scenario& scenario, const std::string& backend) {
    if (scenario.parallel.precision.stored == DType::float32 || !is_of_gpus(backend)) return;
    throw InvalidArgument({"run.dtype_backend", {{"backend", backend}}});
}

/// What takes the memory of another program's kernels computes nothing.
void refuse_ops(const scenario::Scenario& scenario) {
    if (scenario.ops.ops != nn::Ops::fused) throw InvalidArgument({"run.memory_ops", {}});
}

/// Of ranks that read no files.
RunInputs without_files() {
    RunInputs inputs;
    inputs.drawn = std::make_unique<const NoWeights>();
    inputs.batches = std::make_unique<const NoBatches>();
    return inputs;
}

RunInputs open_inputs(const scenario::Scenario& scenario, const RunOptions& options) {
    if (!scenario.calls.empty()) {
        if (!options.resume.empty() && options.resume != kResumeAuto)
            throw InvalidArgument({"run.calls_resume", {}});
        return without_files();
    }
    RunInputs inputs;
    inputs.model = nn::make_model(scenario.model);
    inputs.checkpoints = open_checkpoints(scenario, options, *inputs.model);
    if (!inputs.checkpoints.resumed) inputs.drawn = open_weights(scenario, *inputs.model);
    inputs.batches = open_batches(scenario, *inputs.model);
    return inputs;
}

}  // namespace

std::string backend_of(const scenario::Scenario& scenario, const RunOptions& options) {
    if (!options.backend.empty()) return options.backend;
    return scenario.backend.empty() ? std::string(kOneProcessBackends.front()) : scenario.backend;
}

RunPlan plan_run(const scenario::Scenario& scenario, const RunOptions& given) {
    RunOptions options = given;
    options.backend = backend_of(scenario, given);
    refuse_ops(scenario);
    refuse_dtype(scenario, options.backend);
    mesh::DeviceMesh mesh = build_mesh(scenario);
    if (const int64_t ranks = scenario::world_size(scenario); ranks > kMostRunRanks)
        throw InvalidArgument({"run.too_many_ranks", {{"ranks", ranks}, {"most", int64_t{kMostRunRanks}}}});
    const trace::Level level = options.level.value_or(scenario.level);
    if (!options.force)
        require_fit(scenario, {options.backend, options.ranks_here, level, options.library_bytes});
    const bool saves = scenario.checkpoint.saves();
    GroupTable groups = groups_of(scenario, mesh, saves);
    std::vector<int32_t> nodes = node_of_rank(scenario, mesh);
    // Each member of a group looks at every other's call: of a large world that is memory and time.
    const bool compares = !scenario.steps_of_lesson.empty() || !scenario.faults.empty() ||
                          (!scenario.calls.empty() && mesh.size() <= kMostComparedByDefault);
    return {.scenario = scenario,
            .options = options,
            .mesh = std::move(mesh),
            .groups = std::move(groups),
            .node_of_rank = std::move(nodes),
            .inputs = std::make_shared<const RunInputs>(open_inputs(scenario, options)),
            .level = level,
            .checked = options.checked.value_or(scenario.checked.value_or(compares)),
            .saves = saves,
            .backend = options.backend};
}

RunPlan plan_dry_run(const scenario::Scenario& given, int32_t steps) {
    scenario::Scenario scenario = given;
    if (steps > 0) scenario.steps = std::min(scenario.steps, steps);
    mesh::DeviceMesh mesh = build_mesh(scenario);
    GroupTable groups = groups_of(scenario, mesh, false);
    std::vector<int32_t> nodes = node_of_rank(scenario, mesh);
    return {.scenario = std::move(scenario),
            .options = {},
            .mesh = std::move(mesh),
            .groups = std::move(groups),
            .node_of_rank = std::move(nodes),
            .inputs = std::make_shared<const RunInputs>(without_files()),
            .level = trace::Level::collectives,
            .dry = true,
            .backend = std::string(trace::kDry)};
}

RunPlan plan_search(const RunPlan& first, int32_t step) {
    RunPlan again = first;
    again.scenario.steps = step + 1;
    again.options.progress = {};
    again.options.parts.clear();
    again.level = trace::Level::off;
    again.checked = false;
    again.saves = false;
    again.searches = true;
    return again;
}

mesh::DeviceMesh build_mesh(const scenario::Scenario& scenario) {
    return mesh::DeviceMesh::init(scenario.mesh_shape, scenario.mesh_names, scenario::world_size(scenario));
}

std::vector<int32_t> node_of_rank(const scenario::Scenario& scenario, const mesh::DeviceMesh& mesh) {
    if (!scenario.node_of_rank.empty()) return scenario.node_of_rank;
    std::vector<int32_t> nodes(static_cast<std::size_t>(scenario::world_size(scenario)), 0);
    const int64_t together = mesh.ndim() < 2 ? mesh.size() : mesh.size() / mesh.size(0);
    if (const int32_t most = scenario.hardware.node_ranks; most > 0 && together > most) {
        for (std::size_t r = 0; r < nodes.size(); ++r) nodes[r] = static_cast<int32_t>(r) / most;
        return nodes;
    }
    if (mesh.ndim() < 2) return nodes;
    for (std::size_t r = 0; r < nodes.size(); ++r)
        if (const auto coordinate = mesh.coordinate(GlobalRank{static_cast<int32_t>(r)}))
            nodes[r] = static_cast<int32_t>(coordinate->front());
    return nodes;
}

trace::RunInfo describe_run(const RunPlan& plan) {
    const scenario::Scenario& scenario = plan.scenario;
    trace::RunInfo info;
    info.title_en = scenario.title.en;
    info.title_zh = scenario.title.zh;
    info.scenario = scenario.source;
    info.scenario_path = scenario.path;
    if (const auto& own = scenario.parallel.own) {
        info.algorithm_file = own->file_name();
        info.algorithm_text = own->text();
    }
    info.backend = plan.backend;
    info.engine_version = MESHSCOPE_VERSION;
    info.level = plan.level;
    info.world_size = plan.world_size();
    info.mesh_shape = plan.mesh.shape();
    info.mesh_names = plan.mesh.names();
    for (const int64_t rank : plan.mesh.ranks(GlobalRank{0}))
        info.mesh_ranks.push_back(static_cast<int32_t>(rank));
    info.node_of_rank = plan.node_of_rank;
    return info;
}

}  // namespace meshscope::run
