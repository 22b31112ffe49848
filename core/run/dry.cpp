#include "core/run/dry.h"

#include <algorithm>

#include "core/base/clock.h"
#include "core/comm/dry_group.h"
#include "core/mesh/roles.h"
#include "core/run/plan.h"
#include "core/run/rank.h"

namespace meshscope::run {
namespace {

/// The coordinates of a dim that are run.
std::vector<int64_t> chosen(int64_t size, bool all) {
    std::vector<int64_t> coordinates;
    for (int64_t c = 0; c < size; ++c)
        if (all || c == 0 || c + 1 == size) coordinates.push_back(c);
    return coordinates;
}

/// At most so many of them, the first and the last among them where they are two; 0: all.
std::vector<int32_t> spread(const std::vector<int32_t>& ranks, int32_t most) {
    const auto n = static_cast<int32_t>(ranks.size());
    if (most <= 0 || n <= most) return ranks;
    std::vector<int32_t> some;
    for (int32_t i = 0; i < most; ++i)
        some.push_back(ranks[static_cast<std::size_t>(most == 1 ? 0 : int64_t{i} * (n - 1) / (most - 1))]);
    return some;
}

/// Of plain calls any rank may be the root, or the one that is left out.
bool every_rank_differs(const scenario::Scenario& scenario) {
    if (!scenario.calls.empty()) return true;
    return parallel::declaration(scenario.parallel.data)
        .is(&parallel::Declaration::ranks_own_whole, scenario.parallel);
}

}  // namespace

std::vector<int32_t> distinct_ranks(const mesh::DeviceMesh& mesh, int32_t world_size, int32_t all_up_to) {
    const std::vector<int64_t> ranks = mesh.ranks(GlobalRank{0});
    std::vector<int32_t> found;
    if (world_size <= all_up_to) {
        found.assign(ranks.begin(), ranks.end());
        std::sort(found.begin(), found.end());
        return found;
    }
    const mesh::Roles roles = mesh::roles_of(mesh.names());
    std::vector<int64_t> places{0};  // into the row-major list of ranks
    for (int64_t d = 0; d < mesh.ndim(); ++d) {
        std::vector<int64_t> next;
        for (const int64_t place : places)
            for (const int64_t c :
                 chosen(mesh.size(d), static_cast<std::size_t>(d) == roles.of(mesh::Role::pp) ||
                                          static_cast<std::size_t>(d) == roles.of(mesh::Role::cp)))
                next.push_back(place * mesh.size(d) + c);
        places = std::move(next);
    }
    for (const int64_t place : places)
        found.push_back(static_cast<int32_t>(ranks[static_cast<std::size_t>(place)]));
    std::sort(found.begin(), found.end());
    return found;
}

int32_t telling_steps(const scenario::Scenario& scenario) {
    constexpr int64_t kFew = 3, kMost = 64;
    int64_t wanted = kFew;
    if (scenario.evaluation.every > 0)
        wanted = std::clamp<int64_t>(int64_t{scenario.evaluation.every} + 1, wanted, kMost);
    const parallel::Declaration& strategy = parallel::declaration(scenario.parallel.data);
    if (strategy.telling_steps != nullptr)
        wanted = std::max(wanted, strategy.telling_steps(scenario.parallel));
    return static_cast<int32_t>(std::min(wanted, int64_t{scenario.steps}));
}

DryResult run_dry(const scenario::Scenario& scenario, const DryOptions& options) {
    const RunPlan plan = plan_dry_run(scenario, options.steps);
    const int32_t world_size = plan.world_size();
    std::vector<trace::RankRecord> records(static_cast<std::size_t>(world_size));
    RunControl control{.vote = StopVote(nullptr), .epoch_ns = steady_ns()};

    DryResult result;
    const int32_t all_up_to = every_rank_differs(scenario) ? world_size : options.all_up_to;
    const std::vector<int32_t> wanted =
        spread(distinct_ranks(plan.mesh, world_size, all_up_to), options.most_ranks);
    for (const int32_t rank : wanted) {
        if (options.cancel != nullptr && options.cancel->load()) break;
        comm::DryTransport transport(GlobalRank{rank}, world_size);
        RankResult made;  // of which a prediction shows the record alone
        train_rank(transport, plan, control, made);
        records[static_cast<std::size_t>(rank)] = std::move(made.record);
        result.ranks.push_back(rank);
        if (options.progress)
            options.progress(static_cast<int32_t>(result.ranks.size()), static_cast<int32_t>(wanted.size()));
    }

    trace::RunInfo info = describe_run(plan);
    info.steps = plan.scenario.steps;
    result.trace = std::make_shared<const trace::Trace>(
        trace::merge(std::move(info), plan.groups.groups, std::move(records)));
    if (!scenario.calls.empty() && static_cast<int32_t>(result.ranks.size()) == world_size)
        check_dry_calls(*result.trace);
    return result;
}

}  // namespace meshscope::run
