#include "core/run/dry.h"

#include <algorithm>

#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/comm/dry_group.h"
#include "core/run/dry_roles.h"
#include "core/run/fit.h"
#include "core/run/plan.h"
#include "core/run/rank.h"

namespace meshscope::run {
namespace {

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

/// So many ranks are run without asking whether fewer would do.
constexpr int32_t kFewRanks = 16;

/// What a step's operations are counted in is 63 bits wide; so many take a GPU an hour.
constexpr double kMostOperations = 0x1p62;

void require_countable(const scenario::Scenario& scenario) {
    const double operations = generous_operations(scenario);
    if (operations <= kMostOperations) return;
    throw InvalidArgument(
        {"predict.too_many_operations", {{"operations", operations}, {"most", kMostOperations}}});
}

}  // namespace

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
    require_countable(scenario);
    const RunPlan plan = plan_dry_run(scenario, options.steps);
    const int32_t world_size = plan.world_size();
    std::vector<trace::RankRecord> records(static_cast<std::size_t>(world_size));
    RunControl control{.vote = StopVote(nullptr), .epoch_ns = steady_ns()};

    DryResult result;
    const bool all_differ = every_rank_differs(scenario);
    const int32_t all_up_to = all_differ ? world_size : options.all_up_to;
    std::vector<int32_t> wanted =
        spread(distinct_ranks(plan.mesh, world_size, all_up_to), options.most_ranks);
    auto expected = static_cast<int32_t>(wanted.size());
    std::vector<bool> done(records.size());
    /// Null when cancelled.
    const auto record_of = [&](int32_t rank) -> const trace::RankRecord* {
        const auto at = static_cast<std::size_t>(rank);
        if (done[at]) return &records[at];
        if (options.cancel != nullptr && options.cancel->load()) return nullptr;
        comm::DryTransport transport(GlobalRank{rank}, world_size);
        RankResult made;  // of which a prediction shows the record alone
        train_rank(transport, plan, control, made);
        records[at] = std::move(made.record);
        done[at] = true;
        result.ranks.push_back(rank);
        const auto n = static_cast<int32_t>(result.ranks.size());
        if (options.progress) options.progress(n, std::max(n, expected));
        return &records[at];
    };
    if (expected > kFewRanks && !all_differ && world_size > options.all_up_to && options.most_ranks == 0) {
        expected = kFewRanks;  // more or less: what is compared says it
        wanted = fewest_ranks(plan.mesh, scenario.parallel.context.load_balance, record_of);
        expected = static_cast<int32_t>(wanted.size());
    }
    for (const int32_t rank : wanted)
        if (record_of(rank) == nullptr) break;
    // Those that were run to be compared have met none of their neighbours.
    std::erase_if(result.ranks, [&](int32_t rank) {
        if (std::ranges::binary_search(wanted, rank)) return false;
        records[static_cast<std::size_t>(rank)] = {};
        return true;
    });
    std::ranges::sort(result.ranks);

    trace::RunInfo info = describe_run(plan);
    info.steps = plan.scenario.steps;
    result.trace = std::make_shared<const trace::Trace>(
        trace::merge(std::move(info), plan.groups.groups, std::move(records)));
    if (!scenario.calls.empty() && static_cast<int32_t>(result.ranks.size()) == world_size)
        check_dry_calls(*result.trace);
    return result;
}

}  // namespace meshscope::run
