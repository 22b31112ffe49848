#include "app/gui/view/stepping.h"

#include <algorithm>

namespace meshscope::view {
namespace {

// Calls `see` with every moment of interest: where an event begins, or where a hop ends.
template <class See>
void each_event_begin(const time::Clock& clock, See see) {
    for (const auto& events : clock.events)
        for (const auto& interval : events) see(interval.begin_ns);
}

template <class See>
void each_hop_end(const trace::Trace& trace, const time::Clock& clock, See see) {
    for (std::size_t r = 0; r < trace.ranks.size() && r < clock.events.size(); ++r) {
        const auto& rank = trace.ranks[r];
        std::vector<char> hopped(rank.events.size(), 0);
        if (r < clock.hops.size())
            for (std::size_t h = 0; h < rank.hops.size() && h < clock.hops[r].size(); ++h) {
                const auto event = static_cast<std::size_t>(rank.hops[h].event);
                if (event < hopped.size()) hopped[event] = 1;
                see(clock.hops[r][h].end_ns);
            }
        // A collective that wrote no hop here (it only sent, or the level keeps none) still is one stop.
        for (std::size_t e = 0; e < rank.events.size() && e < clock.events[r].size(); ++e)
            if (rank.events[e].kind == trace::EventKind::collective && !hopped[e])
                see(clock.events[r][e].end_ns);
    }
}

struct Nearest {
    int64_t from;
    std::optional<int64_t> after, before;
    void operator()(int64_t t) {
        if (t > from && (!after || t < *after)) after = t;
        if (t < from && (!before || t > *before)) before = t;
    }
};

std::optional<Cursor> cursor_at(std::optional<int64_t> t) {
    if (!t) return std::nullopt;
    return Cursor{*t};
}

}  // namespace

std::optional<Cursor> next_hop(const trace::Trace& trace, const time::Clock& clock, Cursor cursor) {
    Nearest nearest{cursor.t_ns, {}, {}};
    each_hop_end(trace, clock, [&](int64_t t) { nearest(t); });
    return cursor_at(nearest.after);
}

std::optional<Cursor> previous_hop(const trace::Trace& trace, const time::Clock& clock, Cursor cursor) {
    Nearest nearest{cursor.t_ns, {}, {}};
    each_hop_end(trace, clock, [&](int64_t t) { nearest(t); });
    return cursor_at(nearest.before);
}

std::optional<Cursor> next_event(const trace::Trace&, const time::Clock& clock, Cursor cursor) {
    Nearest nearest{cursor.t_ns, {}, {}};
    each_event_begin(clock, [&](int64_t t) { nearest(t); });
    return cursor_at(nearest.after);
}

std::optional<Cursor> previous_event(const trace::Trace&, const time::Clock& clock, Cursor cursor) {
    Nearest nearest{cursor.t_ns, {}, {}};
    each_event_begin(clock, [&](int64_t t) { nearest(t); });
    return cursor_at(nearest.before);
}

std::optional<EventRef> event_at(const trace::Trace& trace, const time::Clock& clock, Cursor cursor,
                                 int32_t rank) {
    if (rank < 0 || static_cast<std::size_t>(rank) >= trace.ranks.size()) return std::nullopt;
    const auto& events = trace.ranks[static_cast<std::size_t>(rank)].events;
    const auto& times = clock.events[static_cast<std::size_t>(rank)];
    std::optional<std::size_t> running, ended;
    const auto later = [&](std::size_t e, std::size_t than) {
        if (times[e].begin_ns != times[than].begin_ns) return times[e].begin_ns > times[than].begin_ns;
        return events[e].kind == trace::EventKind::collective &&
               events[than].kind == trace::EventKind::compute;
    };
    for (std::size_t e = 0; e < events.size() && e < times.size(); ++e) {
        const auto& t = times[e];
        if (t.begin_ns <= cursor.t_ns && cursor.t_ns < t.end_ns && (!running || later(e, *running)))
            running = e;
        if (t.end_ns <= cursor.t_ns && (!ended || t.end_ns >= times[*ended].end_ns)) ended = e;
    }
    const auto found = running ? running : ended;
    if (!found) return std::nullopt;
    return EventRef{rank, events[*found].id};
}

}  // namespace meshscope::view
