#include "app/gui/view/timeline_layout.h"

#include <algorithm>
#include <cmath>

#include "app/gui/view/common.h"
#include "app/gui/view/format.h"
#include "core/trace/simulated.h"

namespace meshscope::view {
namespace {

std::vector<int32_t> shown_ranks(const trace::Trace& trace) {
    std::vector<int32_t> ranks;
    const bool dry = trace::is_dry(trace.info);
    for (std::size_t r = 0; r < trace.ranks.size(); ++r)
        if (!dry || !trace.ranks[r].events.empty()) ranks.push_back(static_cast<int32_t>(r));
    return ranks;
}

/// A ruler's number in the unit that its steps are whole in: "0 µs", then "5", "10".
std::string tick_words(int64_t t_ns, int64_t step_ns, bool with_unit) {
    const int64_t unit = step_ns >= 1'000'000'000 ? 1'000'000'000
                         : step_ns >= 1'000'000   ? 1'000'000
                         : step_ns >= 1'000       ? 1'000
                                                  : 1;
    const char* name = unit == 1'000'000'000 ? " s"
                       : unit == 1'000'000   ? " ms"
                       : unit == 1'000       ? " µs"
                                             : " ns";
    return format_count(t_ns / unit) + (with_unit ? name : "");
}

/// By rank, when a lane's events are.
using Taken = std::vector<std::vector<time::Interval>>;

std::vector<Taken> taken_by(const trace::Trace& trace, const time::Clock& clock,
                            const std::vector<Lane>& lanes) {
    std::vector<Taken> out(lanes.size(), Taken(trace.ranks.size()));
    for (std::size_t r = 0; r < trace.ranks.size(); ++r) {
        for (const trace::Event& event : trace.ranks[r].events) {
            const auto e = static_cast<std::size_t>(event.id);
            const time::Interval at = clock.events[r][e];
            const auto lane = std::ranges::find(lanes, lane_of(event)) - lanes.begin();
            if (at.end_ns > at.begin_ns) out[static_cast<std::size_t>(lane)][r].push_back(at);
        }
    }
    for (Taken& lane : out)
        for (auto& rank : lane) rank = time::unite(std::move(rank));
    return out;
}

/// Adds a lane to a row, if on no rank it lies over what is there.
bool fits_in(Taken& row, const Taken& lane) {
    Taken both = row;
    for (std::size_t r = 0; r < row.size(); ++r) {
        both[r].insert(both[r].end(), lane[r].begin(), lane[r].end());
        both[r] = time::unite(std::move(both[r]));
        if (time::total_ns(both[r]) < time::total_ns(row[r]) + time::total_ns(lane[r])) return false;
    }
    row = std::move(both);
    return true;
}

/// Each lane's row where lanes share them: the first that has room, behind the first lane's.
struct SharedRows {
    std::vector<std::size_t> by_lane;
};

SharedRows share(const trace::Trace& trace, const time::Clock& clock, const std::vector<Lane>& lanes) {
    const auto taken = taken_by(trace, clock, lanes);
    SharedRows out{{0}};
    std::vector<Taken> shared;  // what stands in rows 1, 2 …
    for (std::size_t lane = 1; lane < lanes.size(); ++lane) {
        const auto row =
            std::ranges::find_if(shared, [&](Taken& there) { return fits_in(there, taken[lane]); });
        out.by_lane.push_back(static_cast<std::size_t>(row - shared.begin()) + 1);
        if (row == shared.end()) shared.push_back(taken[lane]);
    }
    return out;
}

/// What stands left of a lane that shares its row: the mark of its collective, as bars have it.
std::string short_name(Lane lane, const Texts& texts) {
    switch (lane) {
        case Lane::all_gather:
            return op_mark(CollectiveOp::all_gather);
        case Lane::reduce_scatter:
            return op_mark(CollectiveOp::reduce_scatter);
        case Lane::all_reduce:
            return op_mark(CollectiveOp::all_reduce);
        default:
            return lane_name(lane, texts);
    }
}

struct Heights {
    float compute, lane, gap, pad;
};
constexpr Heights kLow{20, 15, 2, 5};     ///< text stays readable at 15 pixels
constexpr Heights kLowest{14, 13, 2, 2};  ///< bars as high as their letters

void set(TimelineLayout& out, const Heights& h) {
    out.compute = h.compute;
    out.lane = h.lane;
    out.gap = h.gap;
    out.pad = h.pad;
}

/// Makes what is too high as much lower as lets every rank be seen at once, and no lower than `least`; false:
/// that is not enough, and nothing is changed.
bool lower(TimelineLayout& out, const Heights& least, float height) {
    const float room =
        (height - out.axis.lanes_y - 4) / static_cast<float>(std::max<std::size_t>(1, out.ranks.size()));
    const float tall = out.block_height();
    if (tall <= room) return true;
    TimelineLayout low = out;
    set(low, least);
    const float lowest = low.block_height();
    if (lowest > room) return false;
    const float part = (room - lowest) / std::max(1.F, tall - lowest);
    set(out, {std::lerp(least.compute, out.compute, part), std::lerp(least.lane, out.lane, part),
              std::lerp(least.gap, out.gap, part), std::lerp(least.pad, out.pad, part)});
    return true;
}

/// Lanes that share rows, under a lower header: every rank at once where there is room for that, else more of
/// them.
void pack(TimelineLayout& out, const Input& input) {
    constexpr std::size_t kKept = 4;  // both clocks of two runs
    out.rows = found_once<SharedRows>(input.memo, kKept, input.trace, &input.clock, char{}, [&] {
                   return share(input.trace, input.clock, out.lanes);
               })->by_lane;
    for (std::size_t lane = 0; lane < out.lanes.size(); ++lane)
        if (std::ranges::count(out.rows, out.rows[lane]) > 1)
            out.words[lane] = short_name(out.lanes[lane], input.texts);
    out.axis.ruler_y -= 6;
    out.axis.lanes_y -= 10;
    if (!lower(out, kLowest, input.size.height)) set(out, kLow);
}

/// How wide the names of a rank's lanes are, those of a shared row beside each other.
float names_width(const TimelineLayout& at, const Input& input) {
    float widest = 0;
    for (std::size_t row = 0; row <= *std::max_element(at.rows.begin(), at.rows.end()); ++row) {
        float w = -kLaneNamesApart;
        for (std::size_t lane = 0; lane < at.lanes.size(); ++lane)
            if (at.rows[lane] == row)
                w += input.measure.width(at.words[lane], Face::caption) + kLaneNamesApart;
        widest = std::max(widest, w);
    }
    return widest;
}

}  // namespace

TimelineLayout timeline_layout(const Input& input, const TimelineOptions& options) {
    TimelineLayout out;
    out.lanes = lanes_in_use(input.trace, input.memo);
    if (out.lanes.empty()) out.lanes.push_back(Lane::compute);
    for (const Lane lane : out.lanes) {
        out.rows.push_back(out.rows.size());
        out.words.push_back(lane_name(lane, input.texts));
    }
    out.ranks = shown_ranks(input.trace);
    out.axis.ruler_y = kTimelineHeader;
    out.axis.lanes_y = kTimelineHeader + input.measure.line_height(Face::mono_small) + 4 + 4 + 10;
    if (!lower(out, kLow, input.size.height) && options.end != nullptr) pack(out, input);
    out.block = out.block_height();

    const float rank_names =
        input.measure.width("rank " + std::to_string(out.ranks.empty() ? 0 : out.ranks.back()), Face::body);
    const float lane_names = names_width(out, input);
    // The names may take a third of the width; below that the lanes show their marks alone.
    out.names = kTimelinePad + rank_names + 16 + lane_names + 12 < input.size.width * 0.38F;
    out.gutter_names = kTimelinePad + rank_names + 16 + (out.names ? lane_names : 8.F);
    out.axis.x0 = out.gutter_names + 12;
    out.axis.x1 = std::max(out.axis.x0 + 40, input.size.width - kTimelinePad);
    // Behind where a run broke off stand what never ended, the cross and a word.
    if (options.end != nullptr && options.end->kind == RunEnd::Kind::failed)
        out.axis.x1 = std::max(out.axis.x0 + 40, out.axis.x1 - kTimelineEnd);
    out.axis.begin_ns = options.end_ns > options.begin_ns ? options.begin_ns : 0;
    out.axis.end_ns =
        options.end_ns > options.begin_ns ? options.end_ns : std::max<int64_t>(1, input.clock.end_ns);
    return out;
}

std::pair<float, float> name_place(const Painter& p, const TimelineLayout& at, std::size_t lane, bool named) {
    const auto width = [&](std::size_t l) {
        return (named ? p.width(at.words[l], Face::caption) : 0.F) + kLaneNamesApart;
    };
    float right = at.gutter_names;
    for (std::size_t l = lane + 1; l < at.lanes.size(); ++l)
        if (at.rows[l] == at.rows[lane]) right -= width(l);
    const bool first = std::ranges::find(at.rows, at.rows[lane]) - at.rows.begin() == std::ptrdiff_t(lane);
    return {first ? kTimelinePad : right - width(lane), right};
}

std::vector<std::pair<float, float>> exposed_parts(const time::Overlap& overlap, const TimeAxis& axis) {
    std::vector<std::pair<float, float>> out;
    for (const auto& part : overlap.exposed) {
        const float l = std::clamp(axis.x(part.begin_ns), axis.x0, axis.x1),
                    r = std::clamp(axis.x(part.end_ns), axis.x0, axis.x1);
        if (r <= l) continue;
        if (!out.empty() && l - out.back().second < 1)
            out.back().second = std::max(out.back().second, r);
        else
            out.emplace_back(l, r);
    }
    return out;
}

RulerTicks time_ticks(const TimeAxis& axis, float least_px, float y) {
    const double ns = static_cast<double>(axis.end_ns - axis.begin_ns) * static_cast<double>(least_px) /
                      std::max(1.0, static_cast<double>(axis.x1 - axis.x0));
    const auto step = static_cast<int64_t>(round_step(ns));
    const int64_t first = axis.begin_ns / step * step;
    RulerTicks ticks;
    ticks.first = static_cast<double>(first < axis.begin_ns ? first + step : first);
    ticks.last = static_cast<double>(axis.end_ns);
    ticks.step = static_cast<double>(step);
    ticks.y = y;
    return ticks;
}

void draw_ticks(Painter& painter, const RulerTicks& ticks, const std::function<float(double t)>& line) {
    bool unit = true;  // the first number says it for all
    for (double t = ticks.first; t <= ticks.last; t += ticks.step) {
        const float x = line(t);
        painter.layer = 5;
        if (!ticks.numbers) continue;
        const std::string number =
            ticks.words ? ticks.words(t) : tick_words(std::llround(t), std::llround(ticks.step), unit);
        if (painter.try_text(number, {x, ticks.y}, Face::mono_small, Token::mute, Align::centre))
            unit = false;
    }
}

float TimeAxis::x(int64_t t_ns) const {
    const double part =
        static_cast<double>(t_ns - begin_ns) / static_cast<double>(std::max<int64_t>(1, end_ns - begin_ns));
    return x0 + static_cast<float>(part * static_cast<double>(x1 - x0));
}

int64_t TimeAxis::time(float px) const {
    const double part = std::clamp(static_cast<double>((px - x0) / std::max(1.F, x1 - x0)), 0.0, 1.0);
    return begin_ns + static_cast<int64_t>(std::llround(part * static_cast<double>(end_ns - begin_ns)));
}

float timeline_scroll_to(const Input& input, const TimelineOptions& options, int32_t rank) {
    const TimelineLayout at = timeline_layout(input, options);
    const auto first = static_cast<int32_t>(std::lround(options.scroll_y / at.block));
    const int32_t shown = at.shown(input.size.height);
    const int32_t row = at.row_of(rank);
    if (row >= first && row < first + shown) return options.scroll_y;
    return at.block * static_cast<float>(row < first ? row : row - shown + 1);
}

TimeAxis timeline_axis(const Input& input, const TimelineOptions& options) {
    return timeline_layout(input, options).axis;
}

}  // namespace meshscope::view
