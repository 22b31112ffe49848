#include "core/time/exposed.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "core/base/error.h"

namespace meshscope::time {
namespace {

bool is_in_bubble(const trace::Event& e, int32_t step, bool passes_only) {
    return e.step == step && e.phase != Phase::evaluation &&
           (!passes_only || e.phase == Phase::forward || e.phase == Phase::backward);
}

/// From the first begin to the last end of what is_in_bubble(), over all ranks; empty (0, 0) when there is
/// nothing. Cost: one pass over all events.
Interval bubble_span(const trace::Trace& trace, const Clock& clock, int32_t step, bool passes_only) {
    std::optional<Interval> span;
    for (size_t r = 0; r < std::min(trace.ranks.size(), clock.events.size()); ++r) {
        for (const trace::Event& e : trace.ranks[r].events) {
            if (!is_in_bubble(e, step, passes_only)) continue;
            const Interval& at = clock.events[r][static_cast<size_t>(e.id)];
            if (!span) span = at;
            span->begin_ns = std::min(span->begin_ns, at.begin_ns);
            span->end_ns = std::max(span->end_ns, at.end_ns);
        }
    }
    return span.value_or(Interval{});
}

}  // namespace

std::vector<Interval> unite(std::vector<Interval> intervals) {
    std::sort(intervals.begin(), intervals.end(), [](const Interval& a, const Interval& b) {
        return a.begin_ns != b.begin_ns ? a.begin_ns < b.begin_ns : a.end_ns < b.end_ns;
    });
    std::vector<Interval> result;
    for (const Interval& next : intervals) {
        if (next.end_ns <= next.begin_ns) continue;
        if (!result.empty() && next.begin_ns <= result.back().end_ns) {
            result.back().end_ns = std::max(result.back().end_ns, next.end_ns);
        } else {
            result.push_back(next);
        }
    }
    return result;
}

std::vector<Interval> subtract(const std::vector<Interval>& a, const std::vector<Interval>& b) {
    std::vector<Interval> result;
    size_t first = 0;  // intervals of b before it end before the present interval of a begins
    for (const Interval& whole : a) {
        while (first < b.size() && b[first].end_ns <= whole.begin_ns) ++first;
        int64_t from = whole.begin_ns;
        for (size_t i = first; i < b.size() && b[i].begin_ns < whole.end_ns; ++i) {
            if (b[i].begin_ns > from) result.push_back({from, b[i].begin_ns});
            from = b[i].end_ns;
        }
        if (from < whole.end_ns) result.push_back({from, whole.end_ns});
    }
    return result;
}

int64_t total_ns(const std::vector<Interval>& intervals) {
    int64_t sum = 0;
    for (const Interval& interval : intervals) sum += interval.end_ns - interval.begin_ns;
    return sum;
}

Bubble bubble(const trace::Trace& trace, const Clock& clock, int32_t rank, int32_t step, bool passes_only) {
    return bubble(trace, clock, rank, step, bubble_span(trace, clock, step, passes_only), passes_only);
}

Bubble bubble(const trace::Trace& trace, const Clock& clock, int32_t rank, int32_t step, const Interval& span,
              bool passes_only) {
    const auto ranks = static_cast<int64_t>(std::min(trace.ranks.size(), clock.events.size()));
    if (rank < 0 || rank >= ranks) {
        throw InvalidArgument({"time.no_rank", {{"rank", int64_t{rank}}, {"ranks", ranks}}});
    }
    const auto r = static_cast<size_t>(rank);
    std::vector<Interval> busy;
    for (const trace::Event& e : trace.ranks[r].events)
        if (is_in_bubble(e, step, passes_only) && e.kind == trace::EventKind::compute &&
            e.stream == Stream::compute)
            busy.push_back(clock.events[r][static_cast<size_t>(e.id)]);
    Bubble result;
    result.span_ns = span.end_ns - span.begin_ns;
    result.busy_ns = total_ns(unite(std::move(busy)));
    // Not negative: part of it may have been done before the span.
    result.idle_ns = std::max<int64_t>(0, result.span_ns - result.busy_ns);
    return result;
}

Overlap overlap(const trace::Trace& trace, const Clock& clock, int32_t rank, int32_t step, int64_t until_ns) {
    const auto ranks = static_cast<int64_t>(std::min(trace.ranks.size(), clock.events.size()));
    if (rank < 0 || rank >= ranks) {
        throw InvalidArgument({"time.no_rank", {{"rank", int64_t{rank}}, {"ranks", ranks}}});
    }
    const std::vector<trace::Event>& events = trace.ranks[static_cast<size_t>(rank)].events;
    const std::vector<Interval>& times = clock.events[static_cast<size_t>(rank)];
    std::vector<Interval> communication;
    std::vector<Interval> compute;
    std::vector<Interval> compute_of_step;
    for (size_t i = 0; i < events.size(); ++i) {
        const bool counted = step < -1 || (events[i].step == step && events[i].phase != Phase::evaluation);
        const bool computes = events[i].kind == trace::EventKind::compute;
        const Interval at{times[i].begin_ns, std::min(times[i].end_ns, until_ns)};
        if (computes && events[i].stream != Stream::compute) continue;  // a copy into a buffer hides nothing
        if (computes) {
            compute.push_back(at);
            if (counted) compute_of_step.push_back(at);
        } else if (counted) {
            communication.push_back(at);
        }
    }
    communication = unite(std::move(communication));

    Overlap result;
    result.exposed = subtract(communication, unite(std::move(compute)));
    result.exposed_ns = total_ns(result.exposed);
    result.communication_ns = total_ns(communication);
    result.hidden_ns = result.communication_ns - result.exposed_ns;
    result.compute_ns = total_ns(unite(std::move(compute_of_step)));
    return result;
}

}  // namespace meshscope::time
