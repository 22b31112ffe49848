#include "app/gui/view/op_strip.h"

#include <algorithm>
#include <limits>

#include "app/gui/view/common.h"
#include "app/gui/view/event_times.h"
#include "app/gui/view/format.h"
#include "app/gui/view/timeline_end.h"

namespace meshscope::view {
namespace {

constexpr float kOpBar = 24, kOpGap = 3;
constexpr std::ptrdiff_t kMostHopLines = 16;

/// Where the hops of an event end, as lines in its bar.
void hop_lines(Painter& p, const Input& input, int32_t rank, const trace::Event& event, Rect box) {
    const auto hops = hops_of(input.trace, rank, event.id);
    if (std::ssize(hops) > kMostHopLines) return;
    const time::Interval& at = time_of(input.clock, rank, event.id);
    const auto whole = static_cast<float>(std::max<int64_t>(1, at.end_ns - at.begin_ns));
    for (const trace::Hop& hop : hops) {
        const int64_t end_ns = time_of(input.trace, input.clock, rank, hop).end_ns;
        const float x = box.x + box.w * static_cast<float>(end_ns - at.begin_ns) / whole;
        if (x > box.x + 6 && x < box.x + box.w - 6)
            p.line({x, box.y + 2}, {x, box.y + box.h - 2}, op_hue(event.op), 1).stroke_style = Stroke::dashed;
    }
}

/// Beside what is computed: communication, and kernels of other streams.
bool is_beside(const trace::Event& event) {
    return event.kind == trace::EventKind::collective || event.stream != Stream::compute;
}

/// Below the bars of `box`: the cursor through them with its time, and the times of both ends.
void op_ruler(Painter& p, int64_t now_ns, int64_t begin, int64_t end, Rect box) {
    const float left = box.x, right = box.x + box.w, ruler = box.y + box.h;
    const float x = left + box.w * static_cast<float>(static_cast<double>(now_ns - begin) /
                                                      static_cast<double>(end - begin));
    const float small = p.line_height(Face::mono_small);
    ++p.layer;
    if (now_ns >= begin && now_ns <= end) {
        const std::string now = "+" + format_time(now_ns - begin);
        const float w = p.width(now, Face::mono_small) + 10;
        const float label = std::clamp(x - w / 2, left, right - w);
        p.line({x, box.y - 3}, {x, ruler}, Token::accent, 2).id = {"cursor"};
        p.rect({label, ruler, w, small + 2}, Token::accent, 4, {"cursor"});
        p.label({label, ruler, w, small + 2}, now, Face::mono_small, Token::onacc);
        p.reserve({label - 4, ruler, w + 8, small + 2});
    }
    --p.layer;
    p.try_text(format_time(begin), {left, ruler + 1}, Face::mono_small, Token::mute);
    p.try_text("+" + format_time(end - begin), {right, ruler + 1}, Face::mono_small, Token::mute,
               Align::right);
}

}  // namespace

float draw_op_strip(Painter& p, const Input& input, const OpStrip& strip, float left, float right, float y) {
    const int bars = p.layer;
    const auto& events = input.trace.ranks[static_cast<std::size_t>(strip.rank)].events;
    const auto& times = input.clock.events[static_cast<std::size_t>(strip.rank)];
    int64_t begin = std::numeric_limits<int64_t>::max(), end = 0;
    bool beside = false;
    for (const int32_t id : strip.events) {
        const auto i = static_cast<std::size_t>(id);
        begin = std::min(begin, times[i].begin_ns);
        end = std::max(end, times[i].end_ns);
        beside = beside || is_beside(events[i]);
    }
    if (end <= begin) return y;
    const float wide = right - left;
    const auto x = [&](int64_t t) {
        return left +
               wide * static_cast<float>(static_cast<double>(t - begin) / static_cast<double>(end - begin));
    };
    // The bars of communication: a name that has no room in its bar stands beside it, where no other bar is.
    std::vector<Rect> lane;
    for (const int32_t id : strip.events)
        if (is_beside(events[static_cast<std::size_t>(id)])) {
            const time::Interval& at = times[static_cast<std::size_t>(id)];
            lane.push_back({x(at.begin_ns), y + kOpBar + kOpGap, x(at.end_ns) - x(at.begin_ns), kOpBar});
        }
    const float cursor_x = x(input.cursor.t_ns);
    const auto beside_bar = [&](const std::string& words, const Rect& bar) {
        const float w = p.width(words, Face::caption), high = p.line_height(Face::caption);
        for (const float at : {bar.x + bar.w + 6, bar.x - 6 - w}) {
            const Rect place{at, bar.y + (bar.h - high) / 2, w, high};
            const bool crossed = std::ranges::any_of(lane, [&](const Rect& other) {
                return other.x < place.x + place.w + 2 && place.x - 2 < other.x + other.w;
            });
            if (crossed || place.x < left || place.x + place.w > right ||
                (cursor_x > place.x - 3 && cursor_x < place.x + place.w + 3))
                continue;
            if (p.try_text(words, {place.x, place.y}, Face::caption, Token::soft)) return true;
        }
        return false;
    };
    for (const int32_t id : strip.events) {
        const trace::Event& event = events[static_cast<std::size_t>(id)];
        const time::Interval& at = times[static_cast<std::size_t>(id)];
        const bool compute = event.kind == trace::EventKind::compute;
        const Id shape{"kernel", strip.rank, id};
        const float top = y + (is_beside(event) ? kOpBar + kOpGap : 0), x0 = x(at.begin_ns),
                    x1 = x(at.end_ns);
        const Rect box{x0 + 0.5F, top, std::max(2.F, x1 - x0 - 1), kOpBar};
        p.layer = bars;
        p.alpha = strip.in_front(event) ? 1.F : 0.5F;
        if (std::ranges::find(strip.open, id) != strip.open.end())
            open_event_bar(p, event, box, false, shape);
        else
            event_bar(p, event, box, shape);
        p.alpha = 1;
        p.layer = bars + 1;
        if (!compute) hop_lines(p, input, strip.rank, event, box);
        const Rect place = aside(box, x(input.cursor.t_ns));  // a word steps aside for the cursor
        const std::vector<std::string> choices = strip.words(event);
        const std::string words = p.fit(choices, Face::caption, place.w - 8);
        p.layer = bars + 2;
        const bool written_out = !choices.empty() && (words == choices.front() || choices.size() < 2);
        if (is_beside(event) && !choices.empty() && !written_out &&
            (beside_bar(choices.front(), box) || (words != choices[1] && beside_bar(choices[1], box))))
            continue;
        if (!words.empty())
            event_bar_words(p, event, place, words, Token::text, compute ? Token::compute : Token::none,
                            shape);
    }
    const float below = y + (beside ? 2 * kOpBar + kOpGap : kOpBar), ruler = below + 3;
    const float small = p.line_height(Face::mono_small);
    p.layer = bars + 2;
    op_ruler(p, input.cursor.t_ns, begin, end, {left, y, wide, ruler - y});
    p.layer = bars;
    return ruler + small + 8;
}

std::optional<EventRef> next_in_strip(const Moment& at, int32_t rank, std::vector<int32_t> events, int by) {
    const auto& times = at.clock.events[static_cast<std::size_t>(rank)];
    const auto begin = [&](int32_t id) { return times[static_cast<std::size_t>(id)].begin_ns; };
    std::ranges::stable_sort(events, {}, begin);
    auto now = std::ranges::upper_bound(events, at.cursor.t_ns, {}, begin) - events.begin() - 1;
    if (at.selection.event && at.selection.event_rank == rank)
        if (const auto found = std::ranges::find(events, *at.selection.event); found != events.end())
            now = found - events.begin();
    const auto next = now + by;
    if (next < 0 || std::cmp_greater_equal(next, events.size())) return std::nullopt;
    return EventRef{rank, events[static_cast<std::size_t>(next)]};
}

}  // namespace meshscope::view
