#include "core/run/run.h"

#include <chrono>
#include <thread>

#include "core/base/error.h"
#include "core/run/describe.h"
#include "core/run/groups.h"
#include "core/run/rank.h"
#include "core/run/sources.h"

namespace meshscope::run {
namespace {

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

}  // namespace

RunResult run_scenario(const scenario::Scenario& scenario, const Backends& backends,
                       const RunOptions& options) {
    const mesh::DeviceMesh mesh = build_mesh(scenario);
    const int32_t world_size = scenario::world_size(scenario);
    if (world_size > kMostRunRanks)
        throw InvalidArgument(
            {"run.too_many_ranks", {{"ranks", int64_t{world_size}}, {"most", int64_t{kMostRunRanks}}}});
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
