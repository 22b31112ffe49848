// Which collective a picture is about, and which stand beside it.
#include <algorithm>

#include "app/gui/view/collective_state.h"
#include "app/gui/view/collective_view.h"
#include "app/gui/view/common.h"

namespace meshscope::view {

std::vector<trace::CollectiveInstance> parallel_instances(const trace::Trace& trace, int32_t rank,
                                                          int32_t event) {
    std::vector<trace::CollectiveInstance> out;
    const auto& shown = trace.event(rank, event);
    if (shown.kind != trace::EventKind::collective || shown.group < 0) return out;
    if (shown.op == CollectiveOp::send || shown.op == CollectiveOp::recv) {
        // A send is matched with its recv by order, which the trace room knows.
        for (auto& instance : trace::collectives(trace))
            for (std::size_t m = 0; m < instance.ranks.size(); ++m)
                if (instance.ranks[m] == rank && instance.events[m] == event) return {instance};
        return out;
    }
    const auto& own = trace.groups[static_cast<std::size_t>(shown.group)];
    for (std::size_t g = 0; g < trace.groups.size(); ++g) {
        const auto& group = trace.groups[g];
        const bool mine = static_cast<int32_t>(g) == shown.group;
        if (!mine && (group.mesh_dim != own.mesh_dim || group.ranks.size() != own.ranks.size())) continue;
        trace::CollectiveInstance instance{static_cast<int32_t>(g), shown.sequence, {}, {}};
        for (const int32_t r : group.ranks)
            for (const auto& e : trace.ranks[static_cast<std::size_t>(r)].events) {
                if (e.kind != trace::EventKind::collective || e.group != static_cast<int32_t>(g) ||
                    e.sequence != shown.sequence)
                    continue;
                const bool same = e.op == shown.op && e.step == shown.step &&
                                  trace.text(e.unit) == trace.text(shown.unit) && e.phase == shown.phase &&
                                  e.microbatch == shown.microbatch;
                if (!mine && !same) continue;
                instance.ranks.push_back(r);
                instance.events.push_back(e.id);
                break;
            }
        if (!instance.ranks.empty() && (mine || instance.ranks.size() == group.ranks.size()))
            out.push_back(std::move(instance));
    }
    std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.ranks < b.ranks; });
    return out;
}

namespace {

/// The call of a computation: the last one of its unit that had ended when it began, in its step.
std::optional<int32_t> call_before(const trace::Trace& trace, const time::Clock& clock, int32_t rank,
                                   const trace::Event& event) {
    const auto& events = trace.ranks[static_cast<std::size_t>(rank)].events;
    const auto& times = clock.events[static_cast<std::size_t>(rank)];
    const int64_t begin_ns = times[static_cast<std::size_t>(event.id)].begin_ns;
    std::optional<std::size_t> found;
    for (std::size_t e = 0; e < events.size() && e < times.size(); ++e) {
        if (events[e].kind != trace::EventKind::collective || events[e].unit != event.unit ||
            events[e].step != event.step || times[e].end_ns > begin_ns)
            continue;
        if (!found || times[e].end_ns >= times[*found].end_ns) found = e;
    }
    if (!found || event.unit == 0) return std::nullopt;
    return events[*found].id;
}

}  // namespace

std::optional<ShownCollective> shown_collective(const Input& input) {
    return shown_collective(input.trace, input.clock, input.cursor, input.selection);
}

std::optional<ShownCollective> shown_collective(const trace::Trace& trace, const time::Clock& clock,
                                                Cursor cursor, const Selection& selection) {
    if (const auto* e = selected_event(trace, selection)) {
        if (e->kind == trace::EventKind::collective) return ShownCollective{*selection.event_rank, e->id};
        if (const auto call = call_before(trace, clock, *selection.event_rank, *e))
            return ShownCollective{*selection.event_rank, *call};
    }
    if (trace.ranks.empty()) return std::nullopt;
    const int32_t rank = focus_rank(trace, selection);
    const auto r = static_cast<std::size_t>(rank);
    const auto& events = trace.ranks[r].events;
    const auto& times = clock.events[r];
    std::optional<std::size_t> running, coming, ended;
    // What has just ended goes before what begins at that moment or comes: a step forward lands on ends.
    std::optional<std::size_t> just_ended;
    for (std::size_t e = 0; e < events.size() && e < times.size(); ++e) {
        if (events[e].kind != trace::EventKind::collective) continue;
        const auto& t = times[e];
        if (t.end_ns == cursor.t_ns && t.begin_ns < t.end_ns) just_ended = e;
        if (t.begin_ns <= cursor.t_ns && cursor.t_ns < t.end_ns) {
            if (!running || t.begin_ns >= times[*running].begin_ns) running = e;
        } else if (t.begin_ns > cursor.t_ns) {
            if (!coming || t.begin_ns < times[*coming].begin_ns) coming = e;
        } else if (!ended || t.end_ns >= times[*ended].end_ns) {
            ended = e;
        }
    }
    if (just_ended && (!running || times[*running].begin_ns == cursor.t_ns)) running = just_ended;
    const auto found = running ? running : coming ? coming : ended;
    if (!found) return std::nullopt;
    return ShownCollective{rank, events[*found].id};
}

}  // namespace meshscope::view
