#include "core/run/recover.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <utility>

#include "core/base/diagnosis.h"
#include "core/base/error.h"
#include "core/run/mean_by_step.h"
#include "core/run/partial.h"
#include "core/run/run.h"
#include "core/trace/part_file.h"

namespace meshscope::run {
namespace {

[[noreturn]] void refuse_foreign(const std::string& path) {
    throw InputError({{{"part.foreign", {{"path", path}}}, {path, 0, 0}, {}}});
}

/// The parts of the newest run that left any, by rank.
std::map<int32_t, trace::Part> newest_parts(const std::string& trace_path) {
    std::map<int32_t, trace::Part> parts;
    for (int32_t rank = 0; rank < kMostRunRanks; ++rank) {
        const std::string path = trace::part_path(trace_path, rank);
        if (!std::filesystem::exists(path)) continue;
        trace::Part part = trace::read_part(path);
        if (part.head.rank != rank) refuse_foreign(path);
        if (!parts.empty() && part.head.run < parts.begin()->second.head.run) continue;
        if (!parts.empty() && part.head.run > parts.begin()->second.head.run) parts.clear();
        parts.emplace(rank, std::move(part));
    }
    return parts;
}

}  // namespace

Recovered recover(const std::string& trace_path) {
    std::map<int32_t, trace::Part> parts = newest_parts(trace_path);
    if (parts.empty())
        throw InputError({{{"run.no_parts", {{"path", trace_path}}}, {trace_path, 0, 0}, {}}});
    Recovered recovered;
    const trace::PartHead head = parts.begin()->second.head;
    // The head is believed no further than the parts that stand beside it.
    const bool fits = head.info.world_size > parts.rbegin()->first && head.info.world_size <= kMostRunRanks;
    if (!fits) refuse_foreign(trace::part_path(trace_path, parts.begin()->first));
    trace::RunInfo info = head.info;
    for (const int32_t rank : info.mesh_ranks)
        if (!parts.contains(rank)) recovered.missing.push_back(rank);
    std::vector<trace::RankRecord> records(static_cast<std::size_t>(info.world_size));
    std::vector<std::vector<double>> losses(records.size()), grad_norms(records.size());
    for (auto& [rank, part] : parts) {
        if (part.cut) recovered.cut.push_back(rank);
        const auto r = static_cast<std::size_t>(rank);
        records[r] = std::move(part.record);
        losses[r] = std::move(part.losses);
        grad_norms[r] = std::move(part.grad_norms);
    }
    keep_common_steps(grad_norms);
    info.grad_norms = mean_by_step(grad_norms);
    recovered.trace = partial_trace(std::move(info), head.groups, std::move(records), std::move(losses), "");
    trace::RunInfo& made = recovered.trace.info;
    // Plain calls are one step, without a loss.
    const auto recorded = [](const trace::RankTrace& rank) { return !rank.events.empty(); };
    if (made.losses.empty() && std::ranges::any_of(recovered.trace.ranks, recorded)) made.steps = 1;
    made.failure = failure_json(Error({"run.recovered", {{"steps", int64_t{made.steps}}}}));
    return recovered;
}

}  // namespace meshscope::run
