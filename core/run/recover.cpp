#include "core/run/recover.h"

#include <algorithm>
#include <filesystem>
#include <limits>
#include <map>
#include <system_error>
#include <utility>

#include "core/base/diagnosis.h"
#include "core/base/error.h"
#include "core/run/merge.h"
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

/// As it was before the merge: its strings are all the trace's, of which it uses some.
trace::RankRecord record_of(trace::Trace part, std::size_t rank) {
    trace::RankTrace& own = part.ranks[rank];
    trace::RankRecord record;
    record.strings = std::move(part.strings);
    record.events = std::move(own.events);
    record.dependencies = std::move(own.dependencies);
    record.hops = std::move(own.hops);
    record.pieces = std::move(own.pieces);
    record.snapshots = std::move(own.snapshots);
    record.values = std::move(own.values);
    record.memory = std::move(own.memory);
    record.parameters = std::move(own.parameters);
    return record;
}

/// How much a rank's failure says of `id`: nothing, its sentence, or what it was made from as well, which the
/// ranks that were told over a network do not have.
int says(const std::string& failure, const std::string& id) {
    if (!failure.starts_with("{\"id\":\"" + id + "\"")) return 0;
    return failure.find(",\"diagnosis\":{") == std::string::npos ? 1 : 2;
}

/// The steps that every rank with a record finished: parts end with a whole step, and plain calls are one.
int32_t whole_steps(const trace::Trace& trace) {
    int32_t steps = std::numeric_limits<int32_t>::max();
    for (const trace::RankTrace& rank : trace.ranks)
        if (!rank.events.empty()) steps = std::min(steps, rank.events.back().step + 1);
    return steps == std::numeric_limits<int32_t>::max() ? 0 : steps;
}

bool of_one_run(const trace::Trace& a, const trace::Trace& b) {
    return a.info.scenario == b.info.scenario && a.ranks.size() == b.ranks.size() &&
           a.groups.size() == b.groups.size();
}

}  // namespace

Recovered recover(const std::string& trace_path) {
    std::map<int32_t, trace::Part> parts = newest_parts(trace_path);
    if (parts.empty()) throw InputError({{{"run.no_parts", {{"path", trace_path}}}, {trace_path, 0, 0}, {}}});
    Recovered recovered;
    const trace::PartHead head = parts.begin()->second.head;
    // The head is believed no further than the parts that stand beside it.
    const bool fits = head.info.world_size > parts.rbegin()->first && head.info.world_size <= kMostRunRanks;
    if (!fits) refuse_foreign(trace::part_path(trace_path, parts.begin()->first));
    trace::RunInfo info = head.info;
    for (const int32_t rank : info.mesh_ranks)
        if (!parts.contains(rank)) recovered.missing.push_back(rank);
    std::vector<RankResult> results(static_cast<std::size_t>(info.world_size));
    for (auto& [rank, part] : parts) {
        if (part.cut) recovered.cut.push_back(rank);
        RankResult& result = results[static_cast<std::size_t>(rank)];
        result.record = std::move(part.record);
        result.losses = std::move(part.losses);
        result.grad_norms = std::move(part.grad_norms);
    }
    recovered.trace = partial_trace(std::move(info), head.groups, std::move(results), "");
    trace::RunInfo& made = recovered.trace.info;
    made.steps = std::max(made.steps, whole_steps(recovered.trace));
    made.failure = failure_json(Error({"run.recovered", {{"steps", int64_t{made.steps}}}}));
    mark_unrecorded(made, recovered.missing);
    return recovered;
}

Left left_beside(const std::string& trace_path) {
    Left left;
    int64_t newest = 0;
    for (int32_t rank = 0; !trace_path.empty() && rank < kMostRunRanks; ++rank) {
        const std::string path = trace::part_path(trace_path, rank);
        std::error_code error;
        if (!std::filesystem::exists(path, error)) continue;
        try {
            const trace::Part part = trace::read_part(path);
            if (part.head.rank != rank || (left.parts > 0 && part.head.run < newest)) continue;
            const auto& events = part.record.events;
            const auto steps = std::max(static_cast<int32_t>(part.losses.size()),
                                        events.empty() ? 0 : events.back().step + 1);
            if (left.parts == 0 || part.head.run > newest)
                left = {0, static_cast<int32_t>(part.head.info.mesh_ranks.size()), steps};
            newest = part.head.run;
            left.steps = std::min(left.steps, steps);
            ++left.parts;
        } catch (const Error&) {  // cut within its head, or not ours
            continue;
        }
    }
    return left;
}

trace::Trace join_parts(std::map<int32_t, trace::Trace> parts, const std::string& failure_id) {
    const auto refuse = [](int32_t rank) {
        throw InvalidArgument({"trace.invalid",
                               {{"table", std::string("parts")},
                                {"rank", int64_t{rank}},
                                {"index", int64_t{0}},
                                {"field", std::string("run")}}});
    };
    if (parts.empty()) refuse(0);
    const auto told = std::ranges::max_element(
        parts, {}, [&](const auto& part) { return says(part.second.info.failure, failure_id); });
    const trace::Trace& first = parts.begin()->second;
    const auto ranks = first.ranks.size();
    for (const auto& [rank, part] : parts)
        if (rank < 0 || static_cast<std::size_t>(rank) >= ranks || !of_one_run(first, part)) refuse(rank);
    trace::RunInfo info = first.info;
    std::string failure = told->second.info.failure;
    std::vector<trace::Group> groups = first.groups;
    std::vector<RankResult> results(ranks);
    for (auto& [rank, part] : parts) {
        RankResult& result = results[static_cast<std::size_t>(rank)];
        result.losses = std::move(part.info.losses);
        result.grad_norms = std::move(part.info.grad_norms);
        result.record = record_of(std::move(part), static_cast<std::size_t>(rank));
    }
    trace::Trace joined =
        partial_trace(std::move(info), std::move(groups), std::move(results), std::move(failure));
    std::vector<int32_t> missing;
    for (const int32_t rank : joined.info.mesh_ranks)
        if (!parts.contains(rank)) missing.push_back(rank);
    mark_unrecorded(joined.info, missing);
    return joined;
}

}  // namespace meshscope::run
