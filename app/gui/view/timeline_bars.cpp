#include "app/gui/view/timeline_bars.h"

#include <algorithm>
#include <array>
#include <limits>

namespace meshscope::view {

std::vector<Stream> streams_in_use(const trace::Trace& trace) {
    std::vector<char> used(8, 0);
    for (const auto& rank : trace.ranks)
        for (const auto& event : rank.events) used[static_cast<std::size_t>(event.stream)] = 1;
    std::vector<Stream> out;
    for (const Stream s :
         {Stream::compute, Stream::all_gather, Stream::reduce_scatter, Stream::all_reduce, Stream::copy, Stream::p2p})
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

std::vector<time::Interval> waits(const trace::Trace& trace, const time::Clock& clock, int32_t rank) {
    const auto& record = trace.ranks[static_cast<std::size_t>(rank)];
    const auto& times = clock.events[static_cast<std::size_t>(rank)];
    constexpr int64_t kNever = std::numeric_limits<int64_t>::min();
    std::vector<int64_t> ready(record.events.size(), kNever);
    for (const auto& d : record.dependencies) {
        const auto e = static_cast<std::size_t>(d.event);
        if (e < ready.size() && record.events[e].kind == trace::EventKind::collective)
            ready[e] = std::max(ready[e], times[static_cast<std::size_t>(d.on)].end_ns);
    }
    std::array<int64_t, 8> free_at{};  // by stream: when it had done all before
    free_at.fill(kNever);
    std::vector<time::Interval> out;
    for (std::size_t e = 0; e < record.events.size() && e < times.size(); ++e) {
        auto& stream = free_at[static_cast<std::size_t>(record.events[e].stream)];
        const int64_t could = std::max(ready[e], stream), began = times[e].begin_ns;
        out.push_back({could == kNever || could > began ? began : could, began});
        stream = std::max(stream, times[e].end_ns);
    }
    return out;
}

std::vector<time::Interval> step_intervals(const trace::Trace& trace, const time::Clock& clock) {
    std::vector<time::Interval> out;
    constexpr time::Interval kNone{std::numeric_limits<int64_t>::max(), std::numeric_limits<int64_t>::min()};
    for (std::size_t r = 0; r < trace.ranks.size(); ++r)
        for (std::size_t e = 0; e < trace.ranks[r].events.size(); ++e) {
            const int32_t step = trace.ranks[r].events[e].step;
            if (step < 0) continue;
            if (out.size() <= static_cast<std::size_t>(step))
                out.resize(static_cast<std::size_t>(step) + 1, kNone);
            auto& whole = out[static_cast<std::size_t>(step)];
            whole.begin_ns = std::min(whole.begin_ns, clock.events[r][e].begin_ns);
            whole.end_ns = std::max(whole.end_ns, clock.events[r][e].end_ns);
        }
    for (auto& whole : out)
        if (whole.begin_ns > whole.end_ns) whole = {};
    return out;
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
