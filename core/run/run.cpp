#include "core/run/run.h"

#include <chrono>
#include <thread>

#include "core/run/groups.h"
#include "core/run/rank.h"
#include "core/run/sources.h"

namespace meshscope::run {
namespace {

mesh::DeviceMesh build_mesh(const scenario::Scenario& scenario) {
    return mesh::DeviceMesh::init(scenario.mesh_shape, scenario.mesh_names, scenario::world_size(scenario));
}

/// Which machine each rank is said to stand on: as the scenario says, else one machine a row of a 2-D or
/// larger mesh.
std::vector<int32_t> nodes(const scenario::Scenario& scenario, const mesh::DeviceMesh& mesh) {
    if (!scenario.node_of_rank.empty()) return scenario.node_of_rank;
    std::vector<int32_t> node_of_rank(static_cast<std::size_t>(scenario::world_size(scenario)), 0);
    if (mesh.ndim() < 2) return node_of_rank;
    for (std::size_t r = 0; r < node_of_rank.size(); ++r)
        if (const auto coordinate = mesh.coordinate(GlobalRank{static_cast<int32_t>(r)}))
            node_of_rank[r] = static_cast<int32_t>(coordinate->front());
    return node_of_rank;
}

/// The mean over the ranks of each step's value: every rank's part of the batch has the same size.
std::vector<double> mean_by_step(const std::vector<std::vector<double>>& by_rank) {
    std::vector<double> mean;
    double ranks = 0;
    for (const auto& values : by_rank) {
        if (values.empty()) continue;
        mean.resize(values.size());
        for (std::size_t s = 0; s < values.size(); ++s) mean[s] += values[s];
        ++ranks;
    }
    for (double& value : mean) value /= ranks;
    return mean;
}

trace::RunInfo describe_run(const scenario::Scenario& scenario, const mesh::DeviceMesh& mesh,
                            const std::string& backend, trace::Level level) {
    trace::RunInfo info;
    info.title_en = scenario.title.en;
    info.title_zh = scenario.title.zh;
    info.scenario = scenario.source;
    info.scenario_path = scenario.path;
    info.backend = backend;
    info.engine_version = MESHSCOPE_VERSION;
    info.level = level;
    info.world_size = scenario::world_size(scenario);
    info.mesh_shape = mesh.shape();
    info.mesh_names = mesh.names();
    for (const int64_t rank : mesh.ranks(GlobalRank{0}))
        info.mesh_ranks.push_back(static_cast<int32_t>(rank));
    info.node_of_rank = nodes(scenario, mesh);
    return info;
}

}  // namespace

RunResult run_scenario(const scenario::Scenario& scenario, const Backends& backends,
                       const RunOptions& options) {
    const mesh::DeviceMesh mesh = build_mesh(scenario);
    const int32_t world_size = scenario::world_size(scenario);
    const GroupTable groups = make_groups(mesh, world_size);
    const std::unique_ptr<nn::Model> model = nn::make_model(scenario.model);
    const auto weights = open_weights(scenario, *model);
    const auto batches = open_batches(scenario, *model);
    const std::unique_ptr<comm::World> world = backends.open(options.backend, world_size);

    const auto ranks = static_cast<std::size_t>(world_size);
    std::vector<trace::RankRecord> records(ranks);
    std::vector<std::vector<double>> losses(ranks), grad_norms(ranks);
    std::vector<int64_t> wall_ns(ranks, 0);
    RunResult result;
    for (const auto& parameter : model->all_parameters())
        result.parameters.push_back(
            {parameter->name, parameter->shape,
             std::vector<float>(static_cast<std::size_t>(tensor::count(parameter->shape)))});

    StopVote vote(options.cancel);
    const trace::Level level = options.level.value_or(scenario.level);
    SharedRun shared{scenario,
                     options,
                     mesh,
                     groups,
                     *weights,
                     *batches,
                     level,
                     comm::StreamExecutor::choose_mode(
                         world_size, static_cast<int32_t>(std::thread::hardware_concurrency())),
                     std::chrono::steady_clock::now().time_since_epoch().count(),
                     vote,
                     records,
                     losses,
                     grad_norms,
                     result.parameters,
                     wall_ns};
    world->run([&](comm::Transport& transport) { train_rank(transport, shared); });

    trace::RunInfo info = describe_run(scenario, mesh, options.backend, level);
    info.losses = mean_by_step(losses);
    info.grad_norms = mean_by_step(grad_norms);
    info.steps = static_cast<int32_t>(info.losses.size());
    for (const int64_t ns : wall_ns) result.wall_ns = std::max(result.wall_ns, ns);
    result.trace = std::make_shared<const trace::Trace>(
        trace::merge(std::move(info), groups.groups, std::move(records)));
    return result;
}

}  // namespace meshscope::run
