#include "core/run/recover.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <system_error>
#include <utility>

#include "core/base/diagnosis.h"
#include "core/base/error.h"
#include "core/run/merge.h"
#include "core/run/run.h"
#include "core/trace/ended.h"
#include "core/trace/part_file.h"

namespace meshscope::run {
namespace {

[[noreturn]] void refuse_foreign(const std::string& path) {
    throw InputError({{{"part.foreign", {{"path", path}}}, {path, 0, 0}, {}}});
}

/// The parts of the newest run that left any, by rank. `what_can_be_read`: files that are no part, or another
/// rank's, are passed over.
std::map<int32_t, trace::Part> newest_parts(const std::string& trace_path, bool what_can_be_read = false) {
    std::map<int32_t, trace::Part> parts;
    for (int32_t rank = 0; rank < kMostRunRanks; ++rank) {
        const std::string path = trace::part_path(trace_path, rank);
        std::error_code error;
        if (!std::filesystem::exists(path, error)) continue;
        trace::Part part;
        try {
            part = trace::read_part(path);
            if (part.head.rank != rank) refuse_foreign(path);
        } catch (const Error&) {
            if (what_can_be_read) continue;
            throw;
        }
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

/// The steps that a part holds whole; plain calls are one.
int32_t whole_steps(const trace::Part& part) {
    const auto& events = part.record.events;
    return std::max(static_cast<int32_t>(part.losses.size()), events.empty() ? 0 : events.back().step + 1);
}

/// What parts of one run hold together.
struct Held {
    int32_t steps = 0;       ///< that every rank with a record finished
    int32_t most_steps = 0;  ///< that the one which came furthest finished
    std::vector<int32_t>
        missing;  ///< ranks of the mesh without a part, or with one in which nothing is whole
};

Held held_by(const std::map<int32_t, trace::Part>& parts) {
    Held held;
    if (parts.empty()) return held;
    const trace::RunInfo& info = parts.begin()->second.head.info;
    for (const auto& [rank, part] : parts) held.most_steps = std::max(held.most_steps, whole_steps(part));
    held.steps = held.most_steps;
    for (const int32_t rank : info.mesh_ranks) {
        const auto found = parts.find(rank);
        // At level off nothing but losses is kept, which not every rank has.
        const bool bare = info.level != trace::Level::off && held.most_steps > 0;
        if (found == parts.end() || (bare && found->second.cut && found->second.record.events.empty()))
            held.missing.push_back(rank);
        else if (!found->second.record.events.empty())
            held.steps = std::min(held.steps, whole_steps(found->second));
    }
    return held;
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
    const Held held = held_by(parts);
    recovered.missing = held.missing;
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
    // A loss is the mean of all ranks: none of a step that one of them has not finished.
    for (auto* numbers : {&made.losses, &made.grad_norms})
        if (numbers->size() > static_cast<std::size_t>(held.steps))
            numbers->resize(static_cast<std::size_t>(held.steps));
    made.steps = held.steps;
    made.failure = failure_json(Error({std::string(trace::kRecovered), {{"steps", int64_t{made.steps}}}}));
    mark_unrecorded(made, recovered.missing);
    return recovered;
}

Left left_beside(const std::string& trace_path) {
    if (trace_path.empty()) return {};
    const std::map<int32_t, trace::Part> parts = newest_parts(trace_path, true);
    if (parts.empty()) return {};
    const Held held = held_by(parts);
    return {.parts = static_cast<int32_t>(parts.size()),
            .ranks = static_cast<int32_t>(parts.begin()->second.head.info.mesh_ranks.size()),
            .steps = held.steps,
            .empty = held.most_steps == 0};
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
