#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/run/rank_result.h"
#include "core/trace/trace.h"

namespace meshscope::run {

/// A value a step, for each rank that has any: [rank][step].
using StepValues = std::vector<std::span<const double>>;

/// The mean over the ranks of each step's value, summed in rank order: every rank's part of the batch has the
/// same size. Ranks without a value for a step (outside the mesh, or out of batches) do not count.
std::vector<double> mean_by_step(const StepValues& by_rank);

/// Of ranks that did not all come equally far: the steps that every rank with a value finished.
StepValues common_steps(StepValues by_rank);

/// The first step of a run whose numbers are not finite: its loss, its gradient norm, its evaluation. A
/// parameter may be none while no loss has seen it yet: then it is the last step. Cost: a look at every
/// number that the ranks handed over.
std::optional<int32_t> first_step_not_finite(const RunPlan& plan, std::span<const RankResult> results);

/// The run: its record, the whole parameters, evaluations and figures, from what its ranks made, results[r]
/// of rank r. Steps before those of a resumed run are its checkpoint's. Throws what trace::merge throws. A
/// parameter that one rank handed over whole is moved; parts are copied once and let go one parameter after
/// the other, so that there is never more than one of them twice.
RunResult merge_run(const RunPlan& plan, std::vector<RankResult> results);

/// Writes down that the records of these ranks were lost (trace::unrecorded_ranks), and takes out what is a
/// mean over all ranks; nothing where there are none.
void mark_unrecorded(trace::RunInfo& info, const std::vector<int32_t>& ranks);

/// The record of a run that failed, as far as it came: losses are those of the steps that every rank with a
/// loss finished, and so are gradient norms where results have them. `failure` is what RunInfo::failure
/// holds. Throws what trace::merge throws. Cost: one copy of the records.
trace::Trace partial_trace(trace::RunInfo info, std::vector<trace::Group> groups,
                           std::vector<RankResult> results, std::string failure);

}  // namespace meshscope::run
