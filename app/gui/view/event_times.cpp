#include "app/gui/view/event_times.h"

#include <algorithm>

namespace meshscope::view {

std::span<const trace::Hop> hops_of(const trace::Trace& trace, int32_t rank, int32_t event) {
    return std::ranges::equal_range(trace.ranks[static_cast<std::size_t>(rank)].hops, event, {},
                                    &trace::Hop::event);
}

const time::Interval& time_of(const time::Clock& clock, int32_t rank, int32_t event) {
    return clock.events[static_cast<std::size_t>(rank)][static_cast<std::size_t>(event)];
}

const time::Interval& time_of(const trace::Trace& trace, const time::Clock& clock, int32_t rank,
                              const trace::Hop& hop) {
    const auto r = static_cast<std::size_t>(rank);
    return clock.hops[r][static_cast<std::size_t>(&hop - trace.ranks[r].hops.data())];
}

float share_of(const time::Interval& interval, int64_t t_ns) {
    if (t_ns >= interval.end_ns) return 1;
    if (t_ns <= interval.begin_ns) return 0;
    return static_cast<float>(t_ns - interval.begin_ns) /
           static_cast<float>(interval.end_ns - interval.begin_ns);
}

float share_done(const Input& input, int32_t rank, int32_t event) {
    return event < 0 ? 1.F : share_of(time_of(input.clock, rank, event), input.cursor.t_ns);
}

}  // namespace meshscope::view
