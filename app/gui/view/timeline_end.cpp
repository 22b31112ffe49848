#include "app/gui/view/timeline_end.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "app/gui/view/common.h"
#include "app/gui/view/format.h"
#include "core/base/rank_set.h"

namespace meshscope::view {

void open_event_bar(Painter& p, const trace::Event& event, const Rect& box, bool torn, const Id& id) {
    const Token hue = op_hue(event.op);
    auto& bar = p.rect(box, hue, 0, id);
    bar.fill_alpha = 0.14F * p.alpha;
    bar.pattern = event_pattern(event.op);
    bar.hatch = hue;
    const float right = box.x + box.w, low = box.y + box.h;
    p.polyline({{right, box.y}, {box.x, box.y}, {box.x, low}, {right, low}}, hue, 1.4F).stroke_alpha =
        p.alpha;
    if (!torn) {
        auto& edge = p.line({right, box.y - 1}, {right, low + 1}, hue);
        edge.stroke_style = Stroke::dotted;
        edge.id = {"open", id.a, id.b};
        return;
    }
    std::vector<Point> edge;
    constexpr int kTeeth = 6;
    for (int k = 0; k <= kTeeth; ++k)
        edge.push_back({right + (k % 2 == 0 ? 0.F : 4.F), box.y + box.h * static_cast<float>(k) / kTeeth});
    p.polyline(std::move(edge), Token::err, 1.6F).id = {"torn", id.a, id.b};
}

void TimelineEnd::words() {
    const std::string words = p_.say(end_.kind == RunEnd::Kind::not_finite ? "view.end.mark.not_finite"
                                     : failed()                            ? "view.end.mark.run"
                                                                           : "view.end.mark");
    p_.tell(words + ": " + format_time(end_ns()));
    if (!sees(end_ns())) return;
    const float w = p_.width(words, Face::caption), cx = x(end_ns()), apart = 8;
    p_.layer = 6;
    // Beside the line; where the cursor stands on it, beside the cursor's time.
    const float pill = p_.width(format_time(in_.cursor.t_ns), Face::mono_small) / 2 + 16;
    const float now = x(in_.cursor.t_ns);
    for (const float left : {cx + 6, cx - 6 - w, now + pill, now - pill - w})
        if (left >= at_.axis.x0 && left + w <= in_.size.width - 4 &&
            p_.try_text(words, {left, at_.axis.ruler_y}, Face::caption, Token::err, Align::left,
                        {"broke_off"})) {
            p_.reserve({left - apart, at_.axis.ruler_y, w + 2 * apart, p_.line_height(Face::mono_small)});
            return;
        }
}

void TimelineEnd::marks() {
    if (sees(end_ns())) {
        p_.layer = 6;
        auto& line =
            p_.line({x(end_ns()), at_.axis.lanes_y - 14}, {x(end_ns()), in_.size.height}, Token::err, 2);
        line.id = {"broke_off"};
        if (!failed()) line.stroke_style = Stroke::dashed;
    }
    for (const int32_t rank : end_.ranks) {
        const float top = at_.axis.lanes_y + at_.block * (static_cast<float>(at_.row_of(rank)) -
                                                          std::round(scroll_y_ / at_.block));
        // Of a rank that is seen in part the lane decides.
        if (top < at_.axis.lanes_y - 0.5F || mark_y(rank, top) + kMark > in_.size.height) continue;
        mark(rank, top);
    }
}

float TimelineEnd::mark_y(int32_t rank, float top) const {
    // In the lane of its call, else in the first.
    const RankEnd* stood = end_.waits.at(rank);
    std::size_t lane = 0;
    if (stood != nullptr && stood->call >= 0) {
        const auto found = std::ranges::find(at_.lanes, lane_of(in_.trace.event(rank, stood->call)));
        if (found != at_.lanes.end()) lane = static_cast<std::size_t>(found - at_.lanes.begin());
    }
    return top + at_.pad + at_.lane_y(lane) + at_.lane_height(lane) / 2;
}

void TimelineEnd::mark(int32_t rank, float top) {
    const int64_t at = end_.waits.at(rank) != nullptr ? stood_ns(in_.clock, end_.waits, rank) : broke_off_ns_;
    if (!sees(at)) return;
    const std::string_view kind = mark_of(end_, rank);
    const RankEnd* stood = end_.waits.at(rank);
    const bool in_call = stood != nullptr && stood->call >= 0;
    const float gap = !gone_ns(rank) ? 0.F : in_call ? kLeast + 13 : 13.F;  // behind the torn bar
    const float from = x(at), middle = from + gap, y = mark_y(rank, top);
    p_.layer = 6;
    const Id id{"broke_off", rank};
    p_.circle({middle, y}, kMark, Token::panel, id).stroke = Token::err;
    p_.cross({middle, y}, 4, Token::err, 2);
    if (kind.empty()) return;
    const std::string id_of = "view.end.mark." + std::string(kind);
    const std::string full = p_.say(id_of, {arg("rank", int64_t{rank})}), brief = p_.say(id_of + ".short");
    p_.tell(full + ": " + format_time(at));
    // Behind the mark, in another lane behind a death, or before the mark; not across where the run ends.
    const float high = p_.line_height(Face::caption), far = std::min(in_.size.width, x(end_ns())) - 4;
    for (const std::string& words : {full, brief}) {
        const float w = p_.width(words, Face::caption);
        std::vector<Point> places{{middle + 14, y}};
        if (gone_ns(rank) && at_.lanes.size() > 1) {
            const std::size_t other = y > top + at_.pad + at_.lane_height(0) ? 0 : 1;
            places.push_back({from + 6, top + at_.pad + at_.lane_y(other) + at_.lane_height(other) / 2});
        }
        if (words == brief) places.push_back({from - 14 - w, y});
        // No line goes through the words: where the cursor would, they stand behind it.
        const float now = x(in_.cursor.t_ns);
        for (Point place : places) {
            if (place.x - 3 < now + 1 && place.x + w + 3 > now - 1) place.x = now + 6;
            if (place.x < at_.axis.x0 || place.x + w > far || place.y + high / 2 > in_.size.height ||
                !p_.is_free({place.x, place.y - high / 2, w, high}))
                continue;
            p_.rect({place.x - 3, place.y - high / 2, w + 6, high}, Token::panel, 3, id);
            p_.text(words, {place.x, place.y - high / 2}, Face::caption, Token::err, Align::left, id);
            return;
        }
    }
}

std::optional<int64_t> TimelineEnd::gone_ns(int32_t rank) const {
    return view::gone_ns(in_.clock, end_, rank);
}

void TimelineEnd::gone(int32_t rank, float top, float height) {
    const auto at = gone_ns(rank);
    if (!at) return;
    const float from = std::max(at_.axis.x0, x(*at)), to = std::min(at_.axis.x1, x(in_.clock.end_ns));
    if (to - from < 1) return;
    p_.layer = 0;
    const Rect box{from, top + 1, to - from, height - 1};
    auto& dead = p_.rect(box, Token::panel, 0, {"gone", rank});
    dead.pattern = Fill::hatch;
    dead.hatch = Token::err;
    p_.rect(box, Token::panel).fill_alpha = 0.8F;
}

Rect TimelineEnd::open_bar(int32_t rank, const trace::Event& event, Rect box) {
    const RankEnd& stood = *end_.waits.at(rank);
    const auto gone_at = gone_ns(rank);
    if (gone_at) box.w = std::min(box.x + box.w, x(*gone_at)) - box.x;
    box.w = std::max(box.w, kLeast);
    const Id id{"event", rank, event.id};
    open_event_bar(p_, event, box, gone_at.has_value(), id);
    const std::string unit = event_labels(p_, in_.trace, event).front();
    std::vector<std::string> choices;
    if (event.id == stood.call && !stood.waits_for.empty())
        choices.push_back(
            p_.say("view.end.unended.waits", {arg("unit", unit), arg("whom", rank_list(stood.waits_for))}));
    else if (event.id != stood.call)
        choices.push_back(p_.say("view.end.unended", {arg("unit", unit)}));
    choices.push_back(unit);
    const Rect room = aside(box, x(in_.cursor.t_ns));
    if (const std::string words = p_.fit(choices, Face::caption, room.w - 8); !words.empty())
        event_bar_words(p_, event, room, words, Token::text, Token::none, id);
    return box;
}

}  // namespace meshscope::view
