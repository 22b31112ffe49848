#include "app/gui/view/timeline_bars.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <map>
#include <span>
#include <utility>

#include "app/gui/view/paint.h"
#include "core/time/queue.h"

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

/// Gives bars of several queues rows: of those that overlap, each takes the first row that is free where it
/// begins; bars that overlap nothing keep the lane's whole height.
void share_rows(std::span<Bar> bars) {
    std::ranges::stable_sort(bars, {}, &Bar::x0);
    std::size_t first = 0;  // of the bars that hang together by overlapping
    float end = std::numeric_limits<float>::lowest();
    std::vector<float> free_at;  // by row
    const auto close = [&](std::size_t behind) {
        for (std::size_t i = first; i < behind; ++i) bars[i].rows = static_cast<int32_t>(free_at.size());
        first = behind;
        free_at.clear();
    };
    for (std::size_t i = 0; i < bars.size(); ++i) {
        if (bars[i].x0 >= end) close(i);
        const auto row = std::ranges::find_if(free_at, [&](float at) { return at <= bars[i].x0; });
        bars[i].row = static_cast<int32_t>(row - free_at.begin());
        if (row == free_at.end())
            free_at.push_back(bars[i].x1);
        else
            *row = bars[i].x1;
        end = std::max(end, bars[i].x1);
    }
    close(bars.size());
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
    std::vector<Bar> kernels;
    std::map<int32_t, std::vector<Bar>> collectives;  // by Bar::group
    for (const Bar& bar : bars) {
        const bool calls = events[static_cast<std::size_t>(bar.event)].kind == trace::EventKind::collective;
        (calls ? collectives[bar.group] : kernels).push_back(bar);
    }
    std::vector<Bar> out = merge_narrow(kernels);
    const auto calls = static_cast<std::ptrdiff_t>(out.size());
    for (const auto& [group, own] : collectives) {
        const std::vector<Bar> merged = merge_narrow(own);
        out.insert(out.end(), merged.begin(), merged.end());
    }
    if (collectives.size() > 1) share_rows(std::span(out).subspan(static_cast<std::size_t>(calls)));
    return out;
}

std::pair<float, float> row_of(const Bar& bar, float y, float height) {
    const float own = height / static_cast<float>(std::max(1, bar.rows));
    return {y + own * static_cast<float>(bar.row), bar.rows > 1 ? own - 1 : own};
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
    std::map<time::Queue, int64_t> free_at;  // when it had done all before
    std::vector<time::Interval> out;
    for (std::size_t e = 0; e < record.events.size() && e < times.size(); ++e) {
        const time::Queue own = time::queue_of(trace, clock, record.events[e]);
        int64_t& queue = free_at.try_emplace(own, kNever).first->second;
        const int64_t could = std::max(ready[e], queue), began = times[e].begin_ns;
        out.push_back({could == kNever || could > began ? began : could, began});
        queue = std::max(queue, times[e].end_ns);
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
