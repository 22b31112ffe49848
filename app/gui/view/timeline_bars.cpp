#include "app/gui/view/timeline_bars.h"

#include <algorithm>
#include <limits>

namespace meshscope::view {

std::vector<Stream> streams_in_use(const trace::Trace& trace) {
    std::vector<char> used(8, 0);
    for (const auto& rank : trace.ranks)
        for (const auto& event : rank.events) used[static_cast<std::size_t>(event.stream)] = 1;
    std::vector<Stream> out;
    for (const Stream s :
         {Stream::compute, Stream::all_gather, Stream::reduce_scatter, Stream::all_reduce, Stream::copy})
        if (used[static_cast<std::size_t>(s)]) out.push_back(s);
    return out;
}

std::vector<Bar> merge_narrow(const std::vector<Bar>& bars, float least) {
    std::vector<Bar> out;
    bool open = false;  // the last bar of `out` is narrow and may still grow
    for (const Bar& bar : bars) {
        const bool narrow = bar.x1 - bar.x0 < least;
        if (narrow && open && bar.x0 - out.back().x1 < least) {
            out.back().x1 = std::max(out.back().x1, bar.x1);
            out.back().count += bar.count;
        } else {
            out.push_back(bar);
            open = narrow;
        }
    }
    return out;
}

time::Interval wait_of(const trace::Trace& trace, const time::Clock& clock, int32_t rank, int32_t event) {
    const auto r = static_cast<std::size_t>(rank);
    const auto& events = trace.ranks[r].events;
    const auto& times = clock.events[r];
    const auto e = static_cast<std::size_t>(event);
    const int64_t began = times[e].begin_ns;
    int64_t free_at = std::numeric_limits<int64_t>::min();  // when the stream had nothing else to do
    for (std::size_t i = 0; i < e; ++i)
        if (events[i].stream == events[e].stream) free_at = std::max(free_at, times[i].end_ns);
    int64_t ready_at = free_at;
    if (events[e].kind == trace::EventKind::collective)
        for (const auto& d : trace.ranks[r].dependencies)
            if (d.event == event) ready_at = std::max(ready_at, times[static_cast<std::size_t>(d.on)].end_ns);
    if (ready_at == std::numeric_limits<int64_t>::min() || ready_at >= began) return {began, began};
    return {ready_at, began};
}

time::Interval step_interval(const trace::Trace& trace, const time::Clock& clock, int32_t step) {
    time::Interval out{std::numeric_limits<int64_t>::max(), std::numeric_limits<int64_t>::min()};
    for (std::size_t r = 0; r < trace.ranks.size(); ++r)
        for (std::size_t e = 0; e < trace.ranks[r].events.size(); ++e)
            if (trace.ranks[r].events[e].step == step) {
                out.begin_ns = std::min(out.begin_ns, clock.events[r][e].begin_ns);
                out.end_ns = std::max(out.end_ns, clock.events[r][e].end_ns);
            }
    return out.begin_ns > out.end_ns ? time::Interval{} : out;
}

int32_t step_at(const trace::Trace& trace, const time::Clock& clock, int64_t t_ns) {
    int32_t step = -1;
    bool any_begun = false;
    int32_t first = std::numeric_limits<int32_t>::max();
    for (std::size_t r = 0; r < trace.ranks.size(); ++r)
        for (std::size_t e = 0; e < trace.ranks[r].events.size(); ++e) {
            const int32_t s = trace.ranks[r].events[e].step;
            if (s >= 0) first = std::min(first, s);
            if (clock.events[r][e].begin_ns <= t_ns) {
                step = std::max(step, s);
                any_begun = true;
            }
        }
    // Before anything has begun the first step is the one that comes.
    if (!any_begun && first != std::numeric_limits<int32_t>::max()) return first;
    return step;
}

}  // namespace meshscope::view
