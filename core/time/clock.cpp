#include "core/time/clock.h"

#include <algorithm>

namespace meshscope::time {

Clock measured(const trace::Trace& trace) {
    Clock clock;
    clock.kind = ClockKind::measured;
    clock.events.resize(trace.ranks.size());
    clock.hops.resize(trace.ranks.size());
    for (size_t r = 0; r < trace.ranks.size(); ++r) {
        const trace::RankTrace& rank = trace.ranks[r];
        clock.events[r].reserve(rank.events.size());
        clock.hops[r].reserve(rank.hops.size());
        for (const trace::Event& event : rank.events) {
            clock.events[r].push_back({event.t_begin_ns, event.t_end_ns});
            clock.end_ns = std::max(clock.end_ns, event.t_end_ns);
        }
        for (const trace::Hop& hop : rank.hops) {
            clock.hops[r].push_back({hop.t_begin_ns, hop.t_end_ns});
            clock.end_ns = std::max(clock.end_ns, hop.t_end_ns);
        }
    }
    return clock;
}

Interval span_of_step(const trace::Trace& trace, const Clock& clock, int32_t step) {
    Interval span;
    bool found = false;
    for (size_t r = 0; r < trace.ranks.size(); ++r) {
        const std::vector<trace::Event>& events = trace.ranks[r].events;
        for (size_t i = 0; i < events.size(); ++i) {
            if (events[i].step != step || events[i].phase == Phase::evaluation) continue;
            const Interval& at = clock.events[r][i];
            span.begin_ns = found ? std::min(span.begin_ns, at.begin_ns) : at.begin_ns;
            span.end_ns = found ? std::max(span.end_ns, at.end_ns) : at.end_ns;
            found = true;
        }
    }
    return span;
}

}  // namespace meshscope::time
