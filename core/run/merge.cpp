#include "core/run/merge.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <utility>

#include "core/base/recorded_failure.h"
#include "core/parallel/tensor/placement.h"
#include "core/trace/final_parameters.h"

namespace meshscope::run {
namespace {

StepValues of_all(std::span<const RankResult> results, std::vector<double> RankResult::*values) {
    StepValues by_rank;
    by_rank.reserve(results.size());
    for (const RankResult& result : results) by_rank.emplace_back(result.*values);
    return by_rank;
}

/// The values of the steps before a resumed run's own, then those.
std::vector<double> with_earlier(std::vector<double> earlier, const std::vector<double>& own) {
    earlier.insert(earlier.end(), own.begin(), own.end());
    return earlier;
}

/// All ranks got the same; some stand outside the mesh.
std::vector<Evaluated> evaluations_of(std::span<const RankResult> results) {
    for (const RankResult& result : results)
        if (!result.evaluations.empty()) return result.evaluations;
    return {};
}

bool is_finite(std::span<const float> numbers) {
    return std::ranges::all_of(numbers, [](float x) { return std::isfinite(x); });
}

/// The run's figures, from what its ranks left.
trace::RunInfo sum_up(const RunPlan& plan, std::span<const RankResult> results) {
    const checkpoint::Manifest& before = plan.inputs->checkpoints.save.header;
    trace::RunInfo info = describe_run(plan);
    info.losses = with_earlier(before.losses, mean_by_step(of_all(results, &RankResult::losses)));
    info.grad_norms = with_earlier(before.grad_norms, mean_by_step(of_all(results, &RankResult::grad_norms)));
    // Plain calls are one step, without a loss.
    info.steps = plan.scenario.calls.empty() ? static_cast<int32_t>(info.losses.size()) : 1;
    return info;
}

/// One parameter out of the parts that ranks answered for.
NamedArray join(const nn::Parameter& parameter, std::vector<ParameterPart> parts) {
    NamedArray whole{parameter.name, parameter.shape, {}};
    const auto n_elements = static_cast<std::size_t>(tensor::count(parameter.shape));
    if (parts.size() == 1 && parts.front().numbers.size() == n_elements) {
        whole.numbers = std::move(parts.front().numbers);
        return whole;
    }
    whole.numbers.resize(n_elements);
    for (const ParameterPart& part : parts) {
        nn::Parameter of_rank;
        of_rank.shape = part.shape;
        of_rank.box = part.box;
        parallel::write_part(whole.numbers, of_rank, part.first_element, part.numbers);
    }
    return whole;
}

/// In Model::parameters() order.
std::vector<NamedArray> join_parameters(const RunPlan& plan, std::span<RankResult> results) {
    if (!plan.inputs->model) return {};
    const auto& parameters = plan.inputs->model->all_parameters();
    std::vector<std::vector<ParameterPart>> by_parameter(parameters.size());
    for (RankResult& result : results)
        for (ParameterPart& part : std::exchange(result.parts, {}))
            by_parameter[static_cast<std::size_t>(part.whole_index)].push_back(std::move(part));
    std::vector<NamedArray> whole;
    for (std::size_t p = 0; p < parameters.size(); ++p)
        whole.push_back(join(*parameters[p], std::move(by_parameter[p])));
    return whole;
}

/// The weights go into the record too, where it has room for them: two runs can be compared by their files.
void keep_parameters(trace::RunInfo& info, const std::vector<NamedArray>& parameters) {
    int64_t numbers = 0;
    for (const NamedArray& p : parameters) numbers += static_cast<int64_t>(p.numbers.size());
    if (numbers > trace::kMostFinalNumbers) return;  // not copied for nothing
    std::vector<trace::FinalParameter> kept;
    for (const NamedArray& p : parameters)
        kept.push_back({p.name, {p.shape.begin(), p.shape.end()}, p.numbers});
    trace::keep_parameters(info, std::move(kept));
}

/// The records of all ranks, taken out of their results.
std::vector<trace::RankRecord> take_records(std::vector<RankResult>& results) {
    std::vector<trace::RankRecord> records;
    records.reserve(results.size());
    for (RankResult& result : results) records.push_back(std::move(result.record));
    return records;
}

}  // namespace

bool all_finite(const std::vector<NamedArray>& parameters) {
    return std::ranges::all_of(parameters, is_finite, &NamedArray::numbers);
}

std::vector<double> mean_by_step(const StepValues& by_rank) {
    std::vector<double> mean;
    std::vector<double> ranks;
    for (const std::span<const double> values : by_rank) {
        mean.resize(std::max(mean.size(), values.size()));
        ranks.resize(mean.size());
        for (std::size_t s = 0; s < values.size(); ++s) {
            mean[s] += values[s];
            ++ranks[s];
        }
    }
    for (std::size_t s = 0; s < mean.size(); ++s) {
        mean[s] /= ranks[s];
        // Every NaN is told alike, as it reads back from a file: which sign it has says nothing.
        if (std::isnan(mean[s])) mean[s] = std::numeric_limits<double>::quiet_NaN();
    }
    return mean;
}

StepValues common_steps(StepValues by_rank) {
    std::size_t steps = std::numeric_limits<std::size_t>::max();
    for (const std::span<const double> of_rank : by_rank)
        if (!of_rank.empty()) steps = std::min(steps, of_rank.size());
    for (std::span<const double>& of_rank : by_rank) of_rank = of_rank.first(std::min(steps, of_rank.size()));
    return by_rank;
}

std::optional<int32_t> first_step_not_finite(const RunPlan& plan, std::span<const RankResult> results) {
    const trace::RunInfo info = sum_up(plan, results);
    for (std::size_t s = 0; s < info.losses.size(); ++s)
        if (!std::isfinite(info.losses[s]) ||
            (s < info.grad_norms.size() && !std::isfinite(info.grad_norms[s])))
            return static_cast<int32_t>(s);
    for (const Evaluated& evaluated : evaluations_of(results))
        if (!std::isfinite(evaluated.loss)) return evaluated.step;
    for (const RankResult& result : results)
        if (!std::ranges::all_of(result.parts, is_finite, &ParameterPart::numbers)) return info.steps - 1;
    return std::nullopt;
}

RunResult merge_run(const RunPlan& plan, std::vector<RankResult> results) {
    RunResult run;
    trace::RunInfo info = sum_up(plan, results);
    run.parameters = join_parameters(plan, results);
    run.evaluations = evaluations_of(results);
    for (const RankResult& result : results) {
        run.wall_ns = std::max(run.wall_ns, result.wall_ns);
        if (!run.part_failure) run.part_failure = result.part_failure;
    }
    if (const auto& resumed = plan.inputs->checkpoints.resumed) run.resumed_after = resumed->manifest().steps;
    if (plan.level != trace::Level::off) keep_parameters(info, run.parameters);
    run.trace = std::make_shared<const trace::Trace>(
        trace::merge(std::move(info), plan.groups.groups, take_records(results)));
    return run;
}

void mark_unrecorded(trace::RunInfo& info, const std::vector<int32_t>& ranks) {
    if (ranks.empty()) return;
    info.losses.clear();
    info.grad_norms.clear();
    info.failure = with_unrecorded(info.failure, ranks);
}

trace::Trace partial_trace(trace::RunInfo info, std::vector<trace::Group> groups,
                           std::vector<RankResult> results, std::string failure) {
    info.losses = mean_by_step(common_steps(of_all(results, &RankResult::losses)));
    info.grad_norms = mean_by_step(common_steps(of_all(results, &RankResult::grad_norms)));
    info.grad_norms.resize(std::min(info.grad_norms.size(), info.losses.size()));
    info.steps = static_cast<int32_t>(info.losses.size());
    info.failure = std::move(failure);
    return trace::merge(std::move(info), std::move(groups), take_records(results));
}

}  // namespace meshscope::run
