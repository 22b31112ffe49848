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

}  // namespace

TimelineLayout timeline_layout(const Input& input, const TimelineOptions& options) {
    TimelineLayout out;
    out.lanes = lanes_in_use(input.trace, input.memo);
    if (out.lanes.empty()) out.lanes.push_back(Lane::compute);
    const auto width = [&](const std::string& s, Face f) { return input.measure.width(s, f); };
    out.ranks = shown_ranks(input.trace);
    const auto ranks = std::max<std::size_t>(1, out.ranks.size());
    const float rank_names =
        width("rank " + std::to_string(out.ranks.empty() ? 0 : out.ranks.back()), Face::body);
    float lane_names = 0;
    for (const Lane lane : out.lanes)
        lane_names = std::max(lane_names, width(lane_name(lane, input.texts), Face::caption));
    // The names may take a third of the width; below that the lanes show their marks alone.
    out.names = kTimelinePad + rank_names + 16 + lane_names + 12 < input.size.width * 0.38F;
    out.gutter_names = kTimelinePad + rank_names + 16 + (out.names ? lane_names : 8.F);
    out.axis.x0 = out.gutter_names + 12;
    out.axis.x1 = std::max(out.axis.x0 + 40, input.size.width - kTimelinePad);
    // Behind where a run broke off stand what never ended, the cross and a word.
    if (options.end != nullptr && options.end->kind == RunEnd::Kind::failed)
        out.axis.x1 = std::max(out.axis.x0 + 40, out.axis.x1 - kTimelineEnd);
    out.axis.ruler_y = kTimelineHeader;
    out.axis.lanes_y = kTimelineHeader + input.measure.line_height(Face::mono_small) + 4 + 4 + 10;
    out.axis.begin_ns = options.end_ns > options.begin_ns ? options.begin_ns : 0;
    out.axis.end_ns =
        options.end_ns > options.begin_ns ? options.end_ns : std::max<int64_t>(1, input.clock.end_ns);
    // A little lower where that lets every rank be seen at once; text stays readable at 15 pixels.
    const float room = (input.size.height - out.axis.lanes_y - 4) / static_cast<float>(ranks);
    const float tall = out.block_height();
    TimelineLayout low = out;
    low.compute = 20;
    low.lane = 15;
    low.gap = 2;
    low.pad = 5;
    const float least = low.block_height();
    if (tall > room && least <= room) {
        const float part = (room - least) / std::max(1.F, tall - least);
        out.compute = low.compute + part * (out.compute - low.compute);
        out.lane = low.lane + part * (out.lane - low.lane);
        out.gap = low.gap + part * (out.gap - low.gap);
        out.pad = low.pad + part * (out.pad - low.pad);
    }
    out.block = out.block_height();
    return out;
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
