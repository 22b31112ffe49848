#include "core/run/partial.h"

#include <algorithm>
#include <utility>

#include "core/base/error.h"
#include "core/run/mean_by_step.h"

namespace meshscope::run {
namespace {

/// As it was before the merge: its strings are all the trace's, of which it uses some.
trace::RankRecord record_of(trace::Trace part, std::size_t rank) {
    trace::RankTrace& own = part.ranks[rank];
    trace::RankRecord record;
    record.strings = std::move(part.strings);
    record.events = std::move(own.events);
    record.dependencies = std::move(own.dependencies);
    record.hops = std::move(own.hops);
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

bool of_one_run(const trace::Trace& a, const trace::Trace& b) {
    return a.info.scenario == b.info.scenario && a.ranks.size() == b.ranks.size() &&
           a.groups.size() == b.groups.size();
}

}  // namespace

trace::Trace partial_trace(trace::RunInfo info, std::vector<trace::Group> groups,
                           std::vector<trace::RankRecord> records, std::vector<std::vector<double>> losses,
                           std::string failure) {
    keep_common_steps(losses);
    info.losses = mean_by_step(losses);
    info.steps = static_cast<int32_t>(info.losses.size());
    info.failure = std::move(failure);
    return trace::merge(std::move(info), std::move(groups), std::move(records));
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
    std::vector<trace::RankRecord> records(ranks);
    std::vector<std::vector<double>> losses(ranks);
    for (auto& [rank, part] : parts) {
        const auto r = static_cast<std::size_t>(rank);
        losses[r] = part.info.losses;
        records[r] = record_of(std::move(part), r);
    }
    return partial_trace(std::move(info), std::move(groups), std::move(records), std::move(losses),
                         std::move(failure));
}

}  // namespace meshscope::run
