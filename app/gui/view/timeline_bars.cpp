#include "app/gui/view/timeline_bars.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <utility>

#include "app/gui/view/paint.h"

namespace meshscope::view {
namespace {

constexpr time::Interval kNone{std::numeric_limits<int64_t>::max(), std::numeric_limits<int64_t>::min()};

/// From when to when each step lasts on a clock; kNone for a step without events.
struct Steps {
    std::vector<time::Interval> whole;
    std::vector<time::Interval> trained;                     ///< without evaluation
    int64_t begin_ns = std::numeric_limits<int64_t>::max();  ///< of the first event, set-up too
};

std::array<char, kLanes> scan_lanes(const trace::Trace& trace) {
    std::array<char, kLanes> used{};
    for (const auto& rank : trace.ranks)
        for (const auto& event : rank.events) used[static_cast<std::size_t>(lane_of(event))] = 1;
    return used;
}

void widen(time::Interval& span, const time::Interval& by) {
    span.begin_ns = std::min(span.begin_ns, by.begin_ns);
    span.end_ns = std::max(span.end_ns, by.end_ns);
}

Steps scan_steps(const trace::Trace& trace, const time::Clock& clock) {
    Steps out;
    for (std::size_t r = 0; r < trace.ranks.size(); ++r)
        for (std::size_t e = 0; e < trace.ranks[r].events.size(); ++e) {
            const int32_t step = trace.ranks[r].events[e].step;
            const time::Interval at = clock.events[r][e];
            out.begin_ns = std::min(out.begin_ns, at.begin_ns);
            if (step < 0) continue;
            if (out.whole.size() <= static_cast<std::size_t>(step))
                for (auto* spans : {&out.whole, &out.trained})
                    spans->resize(static_cast<std::size_t>(step) + 1, kNone);
            widen(out.whole[static_cast<std::size_t>(step)], at);
            if (trace.ranks[r].events[e].phase != Phase::evaluation)
                widen(out.trained[static_cast<std::size_t>(step)], at);
        }
    return out;
}

/// Of the few runs that stand side by side, each on both clocks.
constexpr std::size_t kKept = 12;

std::shared_ptr<const Steps> steps_of(const trace::Trace& trace, const time::Clock& clock, Memo* memo) {
    return found_once<Steps>(memo, kKept, trace, &clock, char{}, [&] { return scan_steps(trace, clock); });
}

}  // namespace

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

std::vector<Bar> merge_lane(const std::vector<Bar>& bars, const std::vector<trace::Event>& events) {
    std::vector<Bar> kernels, collectives;
    for (const Bar& bar : bars) {
        const bool calls = events[static_cast<std::size_t>(bar.event)].kind == trace::EventKind::collective;
        (calls ? collectives : kernels).push_back(bar);
    }
    std::vector<Bar> out = merge_narrow(kernels);
    const std::vector<Bar> above = merge_narrow(collectives);
    out.insert(out.end(), above.begin(), above.end());
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

Lane lane_of(const trace::Event& event) {
    const bool call = event.kind == trace::EventKind::collective;
    return call && event.stream == Stream::compute ? Lane::communication : static_cast<Lane>(event.stream);
}

const std::array<Lane, kLanes>& lane_order() {
    static constexpr std::array<Lane, kLanes> order{
        Lane::compute,    Lane::communication, Lane::all_gather, Lane::reduce_scatter,
        Lane::all_reduce, Lane::copy,          Lane::p2p};
    return order;
}

std::string lane_name(Lane lane, const Texts& texts) {
    return lane == Lane::communication ? texts.text({"view.lane.communication", {}})
                                       : std::string(name(static_cast<Stream>(lane)));
}

Token lane_hue(Lane lane) {
    return lane == Lane::communication ? Token::soft : stream_hue(static_cast<Stream>(lane));
}

std::vector<Lane> lanes_in_use(const trace::Trace& trace, Memo* memo) {
    const auto used = found_once<std::array<char, kLanes>>(memo, kKept, trace, nullptr, char{},
                                                           [&] { return scan_lanes(trace); });
    std::vector<Lane> out;
    for (const Lane lane : lane_order())
        if ((*used)[static_cast<std::size_t>(lane)]) out.push_back(lane);
    return out;
}

std::vector<time::Interval> step_intervals(const trace::Trace& trace, const time::Clock& clock, Memo* memo) {
    std::vector<time::Interval> steps = steps_of(trace, clock, memo)->whole;
    for (auto& whole : steps)
        if (whole.begin_ns > whole.end_ns) whole = {};
    return steps;
}

time::Interval step_span(const trace::Trace& trace, const time::Clock& clock, int32_t step, Memo* memo) {
    if (memo == nullptr || !is_large(trace) || step < 0) return time::span_of_step(trace, clock, step);
    const auto steps = steps_of(trace, clock, memo);
    if (static_cast<std::size_t>(step) >= steps->trained.size()) return {};
    const time::Interval& span = steps->trained[static_cast<std::size_t>(step)];
    return span.begin_ns > span.end_ns ? time::Interval{} : span;
}

int32_t step_at(const trace::Trace& trace, const time::Clock& clock, int64_t t_ns, Memo* memo) {
    const auto steps = steps_of(trace, clock, memo);
    // The latest step of which anything has begun; before anything has, the first is the one that comes.
    int32_t step = -1, first = -1;
    for (std::size_t i = 0; i < steps->whole.size(); ++i) {
        if (steps->whole[i].begin_ns > steps->whole[i].end_ns) continue;
        if (first < 0) first = static_cast<int32_t>(i);
        if (steps->whole[i].begin_ns <= t_ns) step = static_cast<int32_t>(i);
    }
    return steps->begin_ns <= t_ns ? step : first;
}

}  // namespace meshscope::view
