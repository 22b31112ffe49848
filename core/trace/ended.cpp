#include "core/trace/ended.h"

#include <algorithm>
#include <cmath>

#include "core/base/recorded_failure.h"
#include "core/trace/excerpt.h"

namespace meshscope::trace {
namespace {

/// Whether the record has the step in which the run broke off: an excerpt may end before it.
bool has_its_end(const Trace& trace) {
    const auto part = excerpt_of(trace);
    return !trace.info.failure.empty() && (!part || part->end > trace.info.steps);
}

std::vector<int32_t> unended_calls_of(const Trace& trace, const RankTrace& rank) {
    int64_t last_ns = 0;
    for (const Event& event : rank.events) last_ns = std::max({last_ns, event.t_issue_ns, event.t_end_ns});
    std::vector<char> open(rank.events.size(), 0);
    for (std::size_t e = 0; e < rank.events.size(); ++e) {
        const Event& event = rank.events[e];
        const bool known = event.group >= 0 && static_cast<std::size_t>(event.group) < trace.groups.size();
        // What waited for its turn on the stream has no length.
        const bool cut = event.t_end_ns == last_ns || event.t_end_ns <= event.t_begin_ns;
        open[e] = event.kind == EventKind::collective && cut && event.sent_bytes == 0 && known &&
                  trace.groups[static_cast<std::size_t>(event.group)].ranks.size() > 1;
    }
    const auto ended = [&](int32_t id) {
        if (id >= 0 && static_cast<std::size_t>(id) < open.size()) open[static_cast<std::size_t>(id)] = 0;
    };
    for (const Snapshot& snapshot : rank.snapshots)
        if (snapshot.kind == SnapshotKind::output) ended(snapshot.event);
    // Who only receives has sent nothing: its call was over when all had come.
    std::vector<int64_t> came(open.size(), 0);
    for (const Hop& hop : rank.hops)
        if (hop.event >= 0 && static_cast<std::size_t>(hop.event) < came.size() && hop.reduces == 0)
            came[static_cast<std::size_t>(hop.event)] += hop.elements;
    for (std::size_t e = 0; e < open.size(); ++e) {
        const Event& event = rank.events[e];
        if (event.out_elements > 0 && event.reduce_op == ReduceOp::none && came[e] >= event.out_elements)
            ended(event.id);
    }
    // A computation that had to wait for it began.
    for (const Dependency& after : rank.dependencies)
        if (after.event >= 0 && static_cast<std::size_t>(after.event) < open.size() &&
            rank.events[static_cast<std::size_t>(after.event)].kind == EventKind::compute)
            ended(after.on);
    std::vector<int32_t> ids;
    for (std::size_t e = 0; e < open.size(); ++e)
        if (open[e] != 0) ids.push_back(static_cast<int32_t>(e));
    return ids;
}

}  // namespace

std::optional<int32_t> first_not_finite_step(const RunInfo& info) {
    for (std::size_t s = 0; s < std::max(info.losses.size(), info.grad_norms.size()); ++s)
        for (const auto* numbers : {&info.losses, &info.grad_norms})
            if (s < numbers->size() && !std::isfinite((*numbers)[s])) return static_cast<int32_t>(s);
    return {};
}

std::optional<Message> early_end(const RunInfo& info, int32_t planned_steps) {
    if (const auto failure = read_failure(info.failure)) {
        Message message = failure->message;
        if (message.id == kRecovered && planned_steps >= 0) {
            message.id = "run.recovered_of";
            message.args.push_back({"planned", int64_t{planned_steps}});
        }
        return message;
    }
    // Of another version, or damaged: that it failed is known.
    if (!info.failure.empty()) return Message{"view.end.unknown", {}};
    if (const auto step = first_not_finite_step(info))
        return Message{"view.end.not_finite", {{"step", int64_t{*step}}}};
    if (planned_steps > info.steps)
        return Message{"view.end.stopped",
                       {{"steps", int64_t{info.steps}}, {"planned", int64_t{planned_steps}}}};
    return {};
}

std::vector<std::vector<int32_t>> unended_calls(const Trace& trace) {
    std::vector<std::vector<int32_t>> calls(trace.ranks.size());
    if (!has_its_end(trace)) return calls;
    for (std::size_t r = 0; r < trace.ranks.size(); ++r) calls[r] = unended_calls_of(trace, trace.ranks[r]);
    return calls;
}

std::vector<int32_t> unended_calls(const Trace& trace, int32_t rank) {
    if (rank < 0 || static_cast<std::size_t>(rank) >= trace.ranks.size() || !has_its_end(trace)) return {};
    return unended_calls_of(trace, trace.ranks[static_cast<std::size_t>(rank)]);
}

}  // namespace meshscope::trace
