#include "app/gui/view/timeline_view.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "app/gui/view/common.h"
#include "app/gui/view/format.h"
#include "app/gui/view/forms.h"
#include "app/gui/view/parameters.h"
#include "app/gui/view/timeline_bars.h"
#include "app/gui/view/timeline_end.h"
#include "app/gui/view/timeline_layout.h"
#include "core/time/exposed.h"
#include "core/time/queue.h"
#include "core/trace/simulated.h"

namespace meshscope::view {
namespace {

constexpr float kApart = 8;      // between words of the ruler
constexpr float kStepApart = 5;  // between the lines at which steps begin

class Timeline {
  public:
    Timeline(const Input& input, const TimelineOptions& options)
        : in_(input),
          options_(options),
          p_(input),
          at_(timeline_layout(input, options)),
          focus_(focus_rank(input)) {
        selected_ = selected_event(input);
        about_ = units_about(input.trace, input.selection.parameter);
        step_ = step_at(input.trace, input.clock, input.cursor.t_ns, input.memo);
        intervals_ = step_intervals(input.trace, input.clock, input.memo);
    }

    Picture draw() {
        // As much more than the height as makes the last rank stand whole: scrolling goes by whole ranks.
        const int32_t hidden = static_cast<int32_t>(at_.ranks.size()) - at_.shown(in_.size.height);
        if (options_.end != nullptr) end_.emplace(in_, *options_.end, at_, options_.scroll_y, p_);
        header();
        ruler();
        lanes();
        if (end_) end_->marks();
        cursor();
        Picture picture = p_.take();
        picture.content_height = in_.size.height + at_.block * static_cast<float>(std::max(0, hidden));
        return picture;
    }

  private:
    float x(int64_t t) const { return at_.axis.x(t); }
    float clipped(int64_t t) const { return std::clamp(x(t), at_.axis.x0, at_.axis.x1); }

    time::Interval interval_of(int32_t step) const {
        return step >= 0 && static_cast<std::size_t>(step) < intervals_.size()
                   ? intervals_[static_cast<std::size_t>(step)]
                   : time::Interval{};
    }

    void header() {
        p_.layer = 5;
        const float y = 8;
        const std::string title = p_.say("view.timeline.title");
        float left = kTimelinePad;
        p_.text(title, {left, y}, Face::title, Token::text);
        left += p_.width(title, Face::title) + 20;
        left = clock_switch(left, y);
        if (options_.has_grid) {
            const auto chips = form_chips(p_, Form::lanes);
            const float w = chips_width(p_, chips);
            if (left + 16 + w <= in_.size.width - kTimelinePad) {
                draw_chips(p_, chips, {left + 16, y + 1}, in_.size.width - kTimelinePad);
                left += 16 + w;
            }
        }
        exposed_words(left + 16, y);
    }

    float clock_switch(float left, float y) {
        const float h = std::max(28.F, p_.line_height(Face::caption) + 4);
        const bool simulated = trace::is_simulated(in_.trace.info);
        const auto kinds =
            options_.both_clocks && trace::is_measured(in_.trace.info)
                ? std::vector<time::ClockKind>{time::ClockKind::modelled, time::ClockKind::measured}
                : std::vector<time::ClockKind>{in_.clock.kind};
        float right = left + 2;
        std::vector<std::string> words;
        for (const auto kind : kinds) {
            if (in_.watched && kind != in_.clock.kind) continue;
            words.push_back(p_.say(simulated                           ? "view.clock.simulated"
                                   : kind == time::ClockKind::modelled ? "view.clock.modelled"
                                                                       : "view.clock.measured"));
            right += p_.width(words.back(), Face::caption) + 28;
        }
        if (in_.watched) {
            p_.label({left, y, right - left, h}, words.front(), Face::caption, Token::soft);
            return right + 2;
        }
        p_.rect({left, y, right + 2 - left, h}, Token::inset, 6).stroke = Token::line;
        float at = left + 2;
        for (std::size_t i = 0; i < kinds.size(); ++i) {
            const float w = p_.width(words[i], Face::caption) + 28;
            const bool on = kinds[i] == in_.clock.kind;
            p_.rect({at, y + 2, w, h - 4}, on ? Token::accentbg : Token::none, 5,
                    {"clock", static_cast<int64_t>(kinds[i])});
            p_.label({at, y, w, h}, words[i], Face::caption, on ? Token::text : Token::mute);
            at += w;
        }
        return right + 2;
    }

    /// Of a run that broke off what is known: the clock goes on for a while behind it.
    time::Overlap overlap_of(int32_t rank, int32_t step = -2) const {
        if (!end_) return time::overlap(in_.trace, in_.clock, rank, step);
        return time::overlap(in_.trace, in_.clock, rank, step, end_->known_until_ns(rank));
    }

    void exposed_words(float left, float y) {
        if (end_ && end_->gone_ns(focus_)) return;  // behind its death it does not wait
        auto whole = interval_of(step_);
        if (end_) whole.end_ns = std::min(whole.end_ns, end_->known_until_ns(focus_));
        const auto overlap = overlap_of(focus_, step_);
        if (whole.end_ns <= whole.begin_ns || overlap.communication_ns == 0) return;
        const std::string percent = format_percent(static_cast<double>(overlap.exposed_ns) /
                                                   static_cast<double>(whole.end_ns - whole.begin_ns));
        const std::string t = format_time(overlap.exposed_ns);
        const std::vector<MessageArg> args{arg("rank", focus_), arg("time", t), arg("percent", percent),
                                           arg("step", step_)};
        const std::string full = p_.say("view.timeline.exposed", args);
        const std::string text = p_.fit({full, p_.say("view.timeline.exposed.short", args), t}, Face::body,
                                        in_.size.width - kTimelinePad - left);
        p_.tell(full);
        if (!text.empty())
            p_.text(text, {in_.size.width - kTimelinePad, y}, Face::body, Token::warn, Align::right,
                    {"exposed", focus_});
    }

    void ruler() {
        const auto& a = at_.axis;
        const float line = p_.line_height(Face::mono_small);
        const float bottom = in_.size.height;
        p_.layer = 8;
        // The cursor's pill first: numbers of the ruler give way to it.
        if (const float cx = x(in_.cursor.t_ns); cx >= a.x0 - 1 && cx <= a.x1 + 1) {
            const std::string now = format_time(in_.cursor.t_ns);
            const float w = p_.width(now, Face::mono_small) + 16;
            const float left = std::clamp(cx - w / 2, 0.F, std::max(0.F, in_.size.width - w));
            p_.rect({left, a.ruler_y - 1, w, line + 2}, Token::accent, 5, {"cursor"});
            p_.reserve({left - kApart, a.ruler_y - 1, w + 2 * kApart, line + 2});
            p_.label({left, a.ruler_y - 1, w, line + 2}, now, Face::mono_small, Token::onacc);
        }
        if (end_) end_->words();
        p_.layer = 0;
        float last = -kStepApart;
        for (std::size_t s = 0; s < intervals_.size(); ++s) step_mark(static_cast<int32_t>(s), bottom, last);
        draw_ticks(p_, time_ticks(a, 64, a.ruler_y), [&](double t) {
            const float tx = std::floor(x(std::llround(t))) + 0.5F;
            p_.layer = 0;
            p_.line({tx, a.lanes_y}, {tx, bottom}, Token::line).stroke_alpha = 0.5F;
            return tx;
        });
    }

    bool sees(int64_t t) const { return x(t) >= at_.axis.x0 - 1 && x(t) <= at_.axis.x1 + 1; }

    /// `last`: where the mark before it stands. Where steps are narrower than can be told apart some have
    /// none.
    void step_mark(int32_t s, float bottom, float& last) {
        const auto whole = interval_of(s);
        if (whole.end_ns <= whole.begin_ns) return;
        const std::string words = p_.say("view.step", {arg("step", s)});
        p_.tell(words + ": " + format_time(whole.begin_ns) + " – " + format_time(whole.end_ns));
        if (x(whole.begin_ns) < at_.axis.x0 || x(whole.begin_ns) > at_.axis.x1 || in_.trace.info.steps < 2)
            return;
        const float sx = std::floor(x(whole.begin_ns)) + 0.5F;
        if (sx - last < kStepApart) return;
        last = sx;
        auto& line = p_.line({sx, at_.axis.lanes_y - 14}, {sx, bottom}, Token::mute);
        line.stroke_style = Stroke::dashed;
        line.stroke_alpha = 0.7F;
        line.id = {"step", s};
        // Before the ruler's numbers, which give way to it: a number right beside it would read as one with
        // it.
        p_.layer = 5;
        if (p_.try_text(words, {sx + 4, at_.axis.ruler_y}, Face::caption, Token::soft, Align::left,
                        {"step", s}))
            p_.reserve({sx + 4 - kApart, at_.axis.ruler_y, p_.width(words, Face::caption) + 2 * kApart,
                        p_.line_height(Face::mono_small)});
        p_.layer = 0;
    }

    void lanes() {
        const auto& a = at_.axis;
        for (std::size_t row = 0; row < at_.ranks.size(); ++row) {
            // Scrolling goes by whole ranks, so that no bar is cut by the ruler.
            const float top =
                a.lanes_y + at_.block * (static_cast<float>(row) - std::round(options_.scroll_y / at_.block));
            if (top < a.lanes_y - 0.5F || top > in_.size.height) continue;
            const auto rank = static_cast<std::size_t>(at_.ranks[row]);
            tell_rank(rank);  // what is seen is what is told
            block(rank, top);
        }
        cap();
    }

    void tell_rank(std::size_t r) {
        const auto overlap = overlap_of(static_cast<int32_t>(r));
        p_.tell(p_.say("view.timeline.rank",
                       {arg("rank", static_cast<int64_t>(r)), arg("compute", format_time(overlap.compute_ns)),
                        arg("communication", format_time(overlap.communication_ns)),
                        arg("exposed", format_time(overlap.exposed_ns))}));
    }

    // The solid amber line on the ruler: where the chosen rank waits for communication.
    void cap() {
        p_.layer = 4;
        for (const auto& [l, r] : exposed_parts(overlap_of(focus_), at_.axis))
            p_.rect({l, at_.axis.lanes_y - 12, r - l, 4}, Token::warn, 0, {"exposed", focus_});
    }

    void block(std::size_t r, float top) {
        const auto& a = at_.axis;
        const auto rank = static_cast<int32_t>(r);
        const float height = at_.block;
        const float visible = std::min(height, in_.size.height - top);
        p_.layer = 0;
        for (const auto& [l, right] : exposed_parts(overlap_of(rank), at_.axis))
            p_.rect({l, top, right - l, visible}, Token::warn, 0, {"exposed", rank}).fill_alpha = 0.075F;
        if (end_) end_->gone(rank, top, visible);
        if (r > 0) p_.line({0, top + 0.5F}, {in_.size.width, top + 0.5F}, Token::line);
        p_.layer = 3;
        waits_ = waits(in_.trace, in_.clock, rank);
        const bool chosen = in_.selection.rank && *in_.selection.rank == rank;
        const float y = top + at_.pad;
        const std::string words = "rank " + std::to_string(rank);
        const float high = std::max(at_.compute, p_.line_height(Face::body) - 4);
        const Rect place{kTimelinePad, y + (at_.compute - high) / 2, p_.width(words, Face::body), high};
        auto& frame =
            p_.rect({place.x - 6, place.y - 1, place.w + 12, place.h + 2}, Token::none, 6, {"rank", rank});
        frame.stroke = chosen ? Token::sel : Token::none;
        frame.width = 2;
        p_.label(place, words, Face::body, rank == focus_ ? Token::text : Token::soft, Token::none,
                 {"rank", rank});
        for (std::size_t lane = 0; lane < at_.lanes.size(); ++lane) {
            const float ly = y + at_.lane_y(lane), h = at_.lane_height(lane);
            if (ly + h > in_.size.height) continue;
            lane_name(rank, lane, ly, h);
            bars(r, lane, ly, h);
        }
        p_.layer = 0;
        p_.rect({a.x0, y, a.x1 - a.x0, std::max(0.F, visible - 2 * at_.pad)}, Token::none, 0,
                {"lanes", rank});
    }

    void lane_name(int32_t rank, std::size_t lane, float y, float h) {
        p_.layer = 3;
        const bool full = at_.names && (rank == focus_ || lane == 0);
        const auto [left, right] = name_place(p_, at_, lane, full);
        const Id id{"lane", rank, static_cast<int64_t>(at_.lanes[lane])};
        const Rect place{left, y, right - left, h};
        p_.rect(place, Token::none, 0, id);
        if (full)
            p_.label(place, at_.words[lane], Face::caption, Token::mute, Token::none, id, Align::right);
        else
            p_.circle({right - 4, y + h / 2}, 2.6F, lane_hue(at_.lanes[lane]));
    }

    void bars(std::size_t r, std::size_t lane, float y, float h) {
        const auto& events = in_.trace.ranks[r].events;
        const auto& times = in_.clock.events[r];
        std::vector<Bar> found;
        for (std::size_t e = 0; e < events.size() && e < times.size(); ++e) {
            if (lane_of(events[e]) != at_.lanes[lane]) continue;
            if (times[e].end_ns < at_.axis.begin_ns || times[e].begin_ns > at_.axis.end_ns) continue;
            const auto id = static_cast<int32_t>(e);
            const bool open = is_open(static_cast<int32_t>(r), id);
            const RankEnd* stood = open ? early()->waits.at(static_cast<int32_t>(r)) : nullptr;
            // In the queue behind another call that never ended: it did not begin.
            if (open && times[e].end_ns <= times[e].begin_ns && (stood == nullptr || stood->call != id))
                continue;
            Bar bar{clipped(times[e].begin_ns), clipped(times[e].end_ns), id, 1,
                    time::queue_of(in_.trace, in_.clock, events[e]).group};
            if (open) bar.x1 = std::max(bar.x1, bar.x0 + TimelineEnd::kLeast);
            found.push_back(bar);
        }
        std::sort(found.begin(), found.end(), [](const Bar& a, const Bar& b) { return a.x0 < b.x0; });
        for (const Bar& bar : merge_lane(found, events)) {
            const auto [top, height] = row_of(bar, y, h);
            if (bar.count > 1)
                merged(r, lane, bar, top, height);
            else
                one(r, bar, top, height);
        }
    }

    /// How the run ended early, told or not.
    const RunEnd* early() const { return options_.end != nullptr ? options_.end : options_.untold; }
    bool is_open(int32_t rank, int32_t event) const {
        return early() != nullptr && view::is_open(*early(), rank, event);
    }

    void merged(std::size_t r, std::size_t lane, const Bar& bar, float y, float h) {
        const auto& first = in_.trace.ranks[r].events[static_cast<std::size_t>(bar.event)];
        p_.layer = 2;
        p_.rect({bar.x0, y, std::max(2.F, bar.x1 - bar.x0), h},
                first.kind == trace::EventKind::collective ? op_hue(first.op) : lane_hue(at_.lanes[lane]), 0,
                {"merged", static_cast<int64_t>(r), bar.event})
            .fill_alpha = 0.6F;
    }

    void one(std::size_t r, const Bar& bar, float y, float h) {
        const auto rank = static_cast<int32_t>(r);
        const auto& event = in_.trace.ranks[r].events[static_cast<std::size_t>(bar.event)];
        const Rect box{bar.x0 + 0.5F, y, std::max(1.5F, bar.x1 - bar.x0 - 1), h};
        const bool picked = selected_ && in_.selection.event_rank == rank && selected_->id == event.id;
        const bool related = selected_ && !picked && same_collective(*selected_, event);
        const bool dim = !selected_ && ((in_.selection.group && event.group != *in_.selection.group) ||
                                        (!about_.empty() && about_[event.unit] == 0));
        p_.alpha = dim ? 0.3F : 1.F;
        p_.layer = 2;
        const Id id{"event", rank, event.id};
        if (end_ && is_open(rank, event.id)) {
            picked_frame(end_->open_bar(rank, event, box), picked, related, id);
            return;
        }
        // What becomes of it is asked: nothing is said of it but that it had not ended.
        if (is_open(rank, event.id))
            open_event_bar(p_, event, box, false, id);
        else
            event_bar(p_, event, box, id);
        if (bar.rows == 1) {
            const Rect room = aside(box, x(in_.cursor.t_ns));
            const std::string words = p_.fit(event_labels(p_, in_.trace, event), Face::caption, room.w - 8);
            if (!words.empty())
                event_bar_words(
                    p_, event, room, words, dim ? Token::mute : Token::text,
                    event.kind == trace::EventKind::compute && !dim ? Token::compute : Token::none, id);
        }
        p_.alpha = 1;
        wait(r, event, box);
        picked_frame(box, picked, related, id);
    }

    void picked_frame(const Rect& box, bool picked, bool related, const Id& id) {
        p_.alpha = 1;
        p_.layer = 6;
        if (picked)
            p_.outline({box.x - 3, box.y - 3, box.w + 6, box.h + 6}, Token::sel, 2, 5, id);
        else if (related)
            p_.outline({box.x - 2, box.y - 2, box.w + 4, box.h + 4}, Token::sel, 1, 4).stroke_alpha = 0.55F;
    }

    void wait(std::size_t r, const trace::Event& event, const Rect& box) {
        const auto waited = waits_[static_cast<std::size_t>(event.id)];
        const float from = clipped(waited.begin_ns);
        if (event.kind != trace::EventKind::collective || box.x - from < 6) return;
        p_.layer = 1;
        const float y = box.y + box.h / 2;
        auto& line = p_.line({from, y}, {box.x - 4, y}, op_hue(event.op));
        line.stroke_style = Stroke::dotted;
        line.stroke_alpha = 0.7F;
        line.id = {"wait", static_cast<int64_t>(r), event.id};
        auto& ring = p_.circle({box.x - 3.5F, y}, 2.5F, Token::none);
        ring.stroke = op_hue(event.op);
        ring.stroke_alpha = 0.9F;
    }

    void cursor() {
        const float cx = x(in_.cursor.t_ns);
        if (cx < at_.axis.x0 - 1 || cx > at_.axis.x1 + 1) return;
        p_.layer = 7;
        p_.line({cx, at_.axis.ruler_y + p_.line_height(Face::mono_small)}, {cx, in_.size.height},
                Token::accent, 2)
            .id = {"cursor"};
    }

    const Input& in_;
    const TimelineOptions& options_;
    Painter p_;
    TimelineLayout at_;
    int32_t focus_;
    int32_t step_ = -1;
    std::optional<TimelineEnd> end_;  // of a run that ended early
    const trace::Event* selected_ = nullptr;
    std::vector<char> about_;                // units of the selected parameter; empty: none is selected
    std::vector<time::Interval> intervals_;  // of the steps
    std::vector<time::Interval> waits_;      // of the rank being drawn, by event
};

}  // namespace

Picture timeline_view(const Input& input, const TimelineOptions& options) {
    return Timeline(input, options).draw();
}

}  // namespace meshscope::view
