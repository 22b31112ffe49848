#include "app/gui/view/compare_view.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "app/gui/view/common.h"
#include "app/gui/view/compare_table.h"
#include "app/gui/view/timeline_bars.h"
#include "app/gui/view/timeline_end.h"
#include "app/gui/view/timeline_layout.h"
#include "core/time/queue.h"

namespace meshscope::view {
namespace {

constexpr float kPad = kComparePad, kCard = kCompareCard, kRadius = kCompareRadius;
constexpr float kBar = 18, kLaneGap = 3, kBlockPad = 10;

class Comparison {
  public:
    Comparison(const Input& input, const std::vector<ComparedRun>& runs, const CompareOptions& options)
        : in_(input), runs_(runs), options_(options), p_(input) {
        const ComparedRun* front = &runs.front();
        for (const ComparedRun& run : runs)
            if (run.front) front = &run;
        const int32_t step = std::max(0, step_at(front->trace, front->clock, input.cursor.t_ns, input.memo));
        for (const ComparedRun& run : runs) {
            figures_.push_back(run_figures(run, compared_step(run.trace, step), input.memo));
            longest_ = std::max(longest_, figures_.back().step_ns);
            lead_ns_ = std::max(lead_ns_, figures_.back().lead_ns());
            unlike_.push_back(unlike(runs.front(), figures_.front(), run, figures_.back()));
            if (&run == front) cursor_ns_ = input.cursor.t_ns - figures_.back().zero_ns();
        }
        p_.grow();
    }

    Picture draw() {
        float y = compare_title(p_, in_, runs_, unlike_, options_.both_clocks);
        y = lanes_card(y);
        y = compare_table(p_, in_.size.width, runs_, figures_, unlike_, y + 16);
        return p_.take(y + 12);
    }

  private:
    float caption() const { return p_.line_height(Face::caption); }
    float right() const { return in_.size.width - kPad; }

    // ---- the lanes ----

    std::vector<Lane> lanes_of(std::size_t run) const {
        std::set<Lane> used;
        for (const trace::Event* e : events_of(run)) used.insert(lane_of(*e));
        if (used.empty()) used.insert(Lane::compute);
        std::vector<Lane> out;
        for (const Lane lane : lane_order())
            if (used.count(lane) != 0) out.push_back(lane);
        return out;
    }
    std::vector<const trace::Event*> events_of(std::size_t run) const {
        std::vector<const trace::Event*> out;
        const ComparedRun& r = runs_[run];
        if (r.rank < 0 || static_cast<std::size_t>(r.rank) >= r.trace.ranks.size()) return out;
        for (const trace::Event& e : r.trace.ranks[static_cast<std::size_t>(r.rank)].events)
            if (e.step == figures_[run].step && e.phase != Phase::evaluation) out.push_back(&e);
        return out;
    }

    /// A long name takes several lines.
    std::vector<std::string> name_lines(std::size_t run, float room) const {
        return p_.wrap(runs_[run].name, Face::body, room);
    }
    float name_room() const { return x0_ - 20 - kPad - kCard - 24; }
    float head_height(std::size_t run) const {
        return p_.line_height(Face::body) * static_cast<float>(name_lines(run, name_room()).size()) + 2 +
               p_.line_height(Face::mono) + 2 + 2 * caption() + 6 +
               caption() * static_cast<float>(own_lines(run).size());
    }
    /// Which step this is where that is not the same for all, and how the run ended early.
    std::vector<std::string> own_lines(std::size_t run) const {
        std::vector<std::string> lines;
        if (!same_steps(figures_)) lines = p_.wrap(step_words(p_, figures_[run]), Face::caption, name_room());
        if (runs_[run].end == nullptr) return lines;
        const Message title = end_title(*runs_[run].end);
        for (std::string& line : p_.wrap(p_.say(title.id, title.args), Face::caption, name_room()))
            lines.push_back(std::move(line));
        return lines;
    }
    float block_height(std::size_t run) const {
        const auto lanes = static_cast<float>(lanes_of(run).size());
        const float bars = lanes * (kBar + kLaneGap) + 22;  // and the line of the difference below
        return std::max(head_height(run), bars) + 2 * kBlockPad;
    }

    /// The axis of all runs: 0 is where each one's step begins to count, and the step ends at its step_ns.
    TimeAxis axis() const {
        TimeAxis axis;
        axis.x0 = x0_;
        axis.x1 = x1_;
        axis.begin_ns = -lead_ns_;
        axis.end_ns = end_ns_;
        return axis;
    }
    float x(int64_t t) const { return axis().x(t); }
    bool sees(int64_t t) const { return t >= -lead_ns_ && t <= end_ns_; }

    float lanes_card(float top) {
        float gutter = 0;
        for (std::size_t i = 0; i < runs_.size(); ++i) gutter = std::max(gutter, gutter_width(i));
        x0_ = kPad + kCard + std::min(gutter, in_.size.width * 0.3F) + 20;
        // The words of the largest difference stand right of the longest step.
        x1_ = right() - kCard;
        const float words = p_.width("+99.9 ms, +999 %", Face::mono_small) + 16;
        const float part = std::max(0.4F, 1 - words / std::max(1.F, x1_ - x0_));
        const auto shown = static_cast<double>(longest_ + lead_ns_);
        end_ns_ = std::max<int64_t>(1, std::llround(shown / static_cast<double>(part)) - lead_ns_);

        const std::size_t card = p_.picture().shapes.size();
        p_.layer = 0;
        p_.rect({kPad, top, right() - kPad, 0}, Token::panel, kRadius).stroke = Token::line;
        p_.layer = 5;
        float y = top + 12;
        const std::string words_of_step = same_steps(figures_)
                                              ? p_.say("view.step", {arg("step", int64_t{figures_[0].step})})
                                              : p_.say("view.compare.steps");
        p_.text(words_of_step, {kPad + kCard, y}, Face::body, Token::text);
        y = legend(kPad + kCard + p_.width(words_of_step, Face::body) + 24, y);
        const float ruler_y = y + 4;
        y = ruler_y + p_.line_height(Face::mono_small) + 8;
        const float first = y;
        for (std::size_t i = 0; i < runs_.size(); ++i) {
            block(i, y);
            y += block_height(i);
        }
        ruler(ruler_y, first, y);
        cursor(ruler_y, y);
        p_.picture().shapes[card].box.h = y + 4 - top;
        return y + 4;
    }

    float legend(float left, float y) {
        std::set<CollectiveOp> ops;
        for (std::size_t i = 0; i < runs_.size(); ++i)
            for (const trace::Event* e : events_of(i))
                if (e->kind == trace::EventKind::collective) ops.insert(e->op);
        const float line = std::max(p_.line_height(Face::body), caption());
        float at = left;
        const auto entry = [&](const std::string& words, const auto& swatch) {
            const float w = 30 + p_.width(words, Face::caption);
            if (at + w > right() - kCard) {
                at = kPad + kCard;
                y += line + 2;
            }
            swatch(Rect{at, y + line / 2 - 7, 22, 14});
            p_.label({at + 30, y, w - 30, line}, words, Face::caption, Token::soft, Token::none, {},
                     Align::left);
            at += w + 18;
        };
        entry("compute", [&](Rect box) { p_.rect(box, Token::compute, 3); });
        for (const CollectiveOp op : ops)
            entry(std::string(name(op)), [&](Rect box) {
                trace::Event sample;
                sample.kind = trace::EventKind::collective;
                sample.op = op;
                event_bar(p_, sample, box, {});
            });
        entry(p_.say("view.compare.not_hidden"), [&](Rect box) {
            p_.rect(box, Token::warn).fill_alpha = 0.075F;
            p_.rect({box.x, box.y, box.w, 4}, Token::warn);
        });
        if (lead_ns_ > 0)
            entry(p_.say("view.compare.lead"), [&](Rect box) {
                p_.line({box.x + box.w / 2, box.y}, {box.x + box.w / 2, box.y + box.h}, Token::soft);
            });
        return y + line;
    }

    void ruler(float y, float top, float bottom) {
        const int64_t step = tick_step(axis(), 72);
        bool unit = true;
        for (int64_t t = 0; t <= end_ns_; t += step) {
            const float tx = std::floor(x(t)) + 0.5F;
            p_.layer = 1;
            // What stands left of 0 was begun while others were still in the step before.
            if (t == 0 && lead_ns_ > 0)
                p_.line({tx, top}, {tx, bottom}, Token::soft).id = {"zero"};
            else
                p_.line({tx, top}, {tx, bottom}, Token::line).stroke_alpha = 0.5F;
            p_.layer = 5;
            if (p_.try_text(tick_words(t, step, unit), {tx, y}, Face::mono_small, Token::mute, Align::centre))
                unit = false;
        }
    }

    void cursor(float y, float bottom) {
        if (!sees(cursor_ns_)) return;
        p_.layer = 7;
        p_.line({x(cursor_ns_), y + p_.line_height(Face::mono_small)}, {x(cursor_ns_), bottom}, Token::accent,
                2)
            .id = {"cursor"};
    }

    float gutter_width(std::size_t i) const {
        return std::max({std::min(180.F, p_.width(runs_[i].name, Face::body) + 28),
                         p_.width(figure_time(figures_[i].step_ns), Face::mono),
                         p_.width(exposed_words(p_, figures_[i], true), Face::caption),
                         p_.width("rank 000", Face::caption) + 64});
    }

    void block(std::size_t i, float top) {
        const RunFigures& f = figures_[i];
        const float bottom = top + block_height(i);
        p_.layer = 1;
        if (i > 0) p_.line({kPad + kCard, top + 0.5F}, {right() - kCard, top + 0.5F}, Token::line);
        head(i, top + kBlockPad);
        const ComparedRun& run = runs_[i];
        float y = top + kBlockPad;
        if (run.rank >= 0 && static_cast<std::size_t>(run.rank) < run.trace.ranks.size())
            for (const auto& part : overlap_of(run, f.step).exposed) {
                const float l = x(part.begin_ns - f.zero_ns()), r = x(part.end_ns - f.zero_ns());
                p_.layer = 1;
                p_.rect({l, top + 2, r - l, bottom - top - 4}, Token::warn, 0,
                        {"exposed", static_cast<int64_t>(i)})
                    .fill_alpha = 0.075F;
                p_.layer = 3;
                p_.rect({l, top + 2, r - l, 4}, Token::warn, 0, {"exposed", static_cast<int64_t>(i)});
            }
        for (const Lane one : lanes_of(i)) {
            lane(i, one, y);
            y += kBar + kLaneGap;
        }
        // Where the step ends, and how that lies to the first run's end.
        p_.layer = 4;
        if (f.step_ns >= 0)
            p_.line({x(f.step_ns), top + 6}, {x(f.step_ns), bottom - 4}, Token::sel, 1.4F).id = {
                "step_end", static_cast<int64_t>(i)};
        if (i > 0) difference_line(i, top, bottom);
        broke_off(i, top, bottom);
        const bool judged = unlike_[i].verdict != Verdict::none;
        const std::string change = judged ? change_text(figures_[0].step_ns, f.step_ns) : "";
        p_.tell(run.name + " · rank " + std::to_string(run.rank) + " · " + step_words(p_, f) + ": " +
                figure_time(f.step_ns) + (i > 0 && !change.empty() ? " (" + change + ")" : "") + ", " +
                exposed_words(p_, figures_[i], false));
    }

    /// Where in this step the run ended early.
    void broke_off(std::size_t i, float top, float bottom) {
        const ComparedRun& run = runs_[i];
        if (run.end == nullptr || run.end->step != figures_[i].step) return;
        const float at = x(broke_off_ns(run.trace, run.clock, *run.end) - figures_[i].zero_ns());
        p_.layer = 6;
        auto& line = p_.line({at, top + 4}, {at, bottom - 4}, Token::err, 2);
        line.stroke_style = Stroke::dashed;
        line.id = {"broke_off", static_cast<int64_t>(i)};
        const bool values = run.end->kind == RunEnd::Kind::not_finite;
        const std::string words = p_.say(values ? "view.end.mark.not_finite" : "view.end.mark");
        const Message title = end_title(*run.end);
        p_.tell(run.name + ": " + p_.say(title.id, title.args));
        p_.try_text(words, {at + 6, bottom - caption() - 6}, Face::caption, Token::err, Align::left,
                    {"broke_off", static_cast<int64_t>(i)});
    }

    void close_mark(std::size_t i, const Rect& box) {
        p_.rect(box, Token::none, 6, {"close_run", static_cast<int64_t>(i)});
        p_.cross({box.x + 12, box.y + 12}, 4, Token::mute, 1.4F);
    }

    /// Name, whose lanes, the step's time and what of it is exposed.
    void head(std::size_t i, float y) {
        const auto index = static_cast<int64_t>(i);
        const ComparedRun& run = runs_[i];
        const float left = kPad + kCard, room = x0_ - 20 - left;
        p_.layer = 5;
        const float line = p_.line_height(Face::body);
        if (run.front) p_.rect({left - 10, y, 3, line}, Token::accent, 1.5F);
        if (!run.fixed && !in_.watched) close_mark(i, {left + room - 20, y + line / 2 - 12, 24, 24});
        const auto names = name_lines(i, name_room());
        // As wide as there is room: a name may be shorter than can be pressed.
        p_.rect({left, y, name_room(), line * static_cast<float>(names.size())}, Token::none, 0,
                {"run", index});
        for (const std::string& part : names) {
            p_.text(part, {left, y}, Face::body, run.front ? Token::text : Token::soft, Align::left,
                    {"run", index});
            y += line;
        }
        y += 2;
        p_.text(figure_time(figures_[i].step_ns), {left, y}, Face::mono, Token::text);
        y += p_.line_height(Face::mono) + 2;
        const std::string exposed =
            p_.fit({exposed_words(p_, figures_[i], false), exposed_words(p_, figures_[i], true)},
                   Face::caption, room);
        if (!exposed.empty()) p_.text(exposed, {left, y}, Face::caption, Token::warn);
        y += caption() + 2;
        const std::size_t steps =
            same_steps(figures_) ? 0
                                 : p_.wrap(step_words(p_, figures_[i]), Face::caption, name_room()).size();
        const auto own = own_lines(i);
        for (std::size_t k = 0; k < own.size(); ++k) {
            p_.text(own[k], {left, y}, Face::caption, k < steps ? Token::text : Token::err);
            y += caption();
        }
        // Which rank: arrows where there are others.
        const std::string rank = "rank " + std::to_string(run.rank);
        const bool others = run.trace.ranks.size() > 1 && !run.fixed && !in_.watched;
        float at = left;
        const auto arrow = [&](const char* kind, float direction) {
            const Rect box{at, y + caption() / 2 - 12, 24, 24};
            p_.rect(box, Token::none, 6, {kind, index});
            const Point c{box.x + 12, box.y + 12};
            p_.polygon(
                {{c.x - 3 * direction, c.y - 5}, {c.x + 4 * direction, c.y}, {c.x - 3 * direction, c.y + 5}},
                Token::soft, {kind, index});
            at += 26;
        };
        if (others) arrow("lane_less", -1);
        const float wide = p_.width(rank, Face::caption);
        if (at + wide <= left + room) p_.text(rank, {at, y}, Face::caption, Token::soft);
        at += wide + 4;
        if (others) arrow("lane_more", 1);
    }

    void lane(std::size_t i, Lane lane, float y) {
        const ComparedRun& run = runs_[i];
        const RunFigures& f = figures_[i];
        const auto& times = run.clock.events[static_cast<std::size_t>(run.rank)];
        std::vector<Bar> bars;
        for (const trace::Event* e : events_of(i)) {
            if (lane_of(*e) != lane) continue;
            time::Interval t = times[static_cast<std::size_t>(e->id)];
            if (run.end != nullptr && is_open(*run.end, run.rank, e->id)) {
                // In the queue behind another call that never ended: it did not begin.
                if (t.end_ns <= t.begin_ns && run.end->waits.at(run.rank)->call != e->id) continue;
                t.end_ns = std::max(t.begin_ns, std::min(t.end_ns, f.span.end_ns));
            }
            bars.push_back({x(t.begin_ns - f.zero_ns()), x(t.end_ns - f.zero_ns()), e->id, 1,
                            time::queue_of(run.trace, run.clock, *e).group});
        }
        std::sort(bars.begin(), bars.end(), [](const Bar& a, const Bar& b) { return a.x0 < b.x0; });
        const auto& events = run.trace.ranks[static_cast<std::size_t>(run.rank)].events;
        for (const Bar& bar : merge_lane(bars, events)) one_bar(i, lane, bar, y);
    }

    void one_bar(std::size_t i, Lane lane, const Bar& bar, float y) {
        const ComparedRun& run = runs_[i];
        const Id id = run.front ? Id{"event", run.rank, bar.event}
                                : Id{"run_event", static_cast<int64_t>(i), bar.event};
        const auto [top, height] = row_of(bar, y, kBar);
        const Rect box{bar.x0 + 0.5F, top, std::max(1.5F, bar.x1 - bar.x0 - 1), height};
        p_.layer = 2;
        if (bar.count > 1) {
            p_.rect({bar.x0, top, std::max(2.F, bar.x1 - bar.x0), height}, lane_hue(lane), 0, id).fill_alpha =
                0.6F;
            return;
        }
        const trace::Event& e = run.trace.event(run.rank, bar.event);
        if (run.end != nullptr && is_open(*run.end, run.rank, e.id))
            open_event_bar(p_, e, box, gone_ns(run.clock, *run.end, run.rank).has_value(), id);
        else
            event_bar(p_, e, box, id);
        const auto labels = event_labels(p_, run.trace, e);
        Rect room = sees(cursor_ns_) ? aside(box, x(cursor_ns_)) : box;
        if (i > 0 && unlike_[i].verdict != Verdict::none && figures_[0].step_ns >= 0)
            room = aside(room, x(figures_[0].step_ns));  // the first run's end
        if (const std::string words = p_.fit(labels, Face::caption, room.w - 8);
            !words.empty() && bar.rows == 1)
            event_bar_words(p_, e, room, words, Token::text,
                            e.kind == trace::EventKind::compute ? Token::compute : Token::none, id);
        const bool picked =
            run.front && in_.selection.event_rank == run.rank && in_.selection.event == bar.event;
        if (!picked) return;
        p_.layer = 6;
        p_.outline({box.x - 3, box.y - 3, box.w + 6, box.h + 6}, Token::sel, 2, 5, id);
    }

    void difference_line(std::size_t i, float top, float bottom) {
        if (unlike_[i].verdict == Verdict::none) return;
        const int64_t base = figures_[0].step_ns, own = figures_[i].step_ns;
        if (base < 0 || own < 0) return;
        const float from = x(base), to = x(own), y = bottom - 14;
        p_.layer = 1;  // under the bars
        p_.line({from, top + 6}, {from, bottom - 4}, Token::soft).stroke_style = Stroke::dashed;
        p_.layer = 4;
        const bool judged = unlike_[i].verdict == Verdict::better_or_worse;
        const Token colour = !judged      ? Token::soft
                             : own > base ? Token::err
                             : own < base ? Token::ok
                                          : Token::mute;
        if (own != base) p_.line({from, y}, {to, y}, colour, 3);
        const std::string change = change_text(base, own);
        const std::string sign = own > base ? "+" : "";
        const std::string full = own == base
                                     ? p_.say("view.compare.equal")
                                     : sign + format_time(own - base) + (change.empty() ? "" : ", " + change);
        const float line = p_.line_height(Face::mono_small);
        const float left = std::max(from, to) + 8;
        const std::string words = p_.fit({full, change}, Face::mono_small, right() - 8 - left);
        p_.layer = 5;
        if (!words.empty())
            p_.text(words, {left, y - line / 2}, Face::mono_small, colour, Align::left,
                    {"difference", -1, static_cast<int64_t>(i)});
    }

    const Input& in_;
    const std::vector<ComparedRun>& runs_;
    const CompareOptions& options_;
    Painter p_;
    std::vector<RunFigures> figures_;
    std::vector<Unlike> unlike_;
    int64_t longest_ = 0;  // of the steps
    int64_t lead_ns_ = 0;  // how much before its 0 a step begins at most
    int64_t end_ns_ = 1, cursor_ns_ = -1;
    float x0_ = 0, x1_ = 1;
};

}  // namespace

Picture compare_view(const Input& input, const std::vector<ComparedRun>& runs,
                     const CompareOptions& options) {
    if (runs.size() < 2) {
        Painter p(input);
        const std::string words = p.say(options.choices ? "view.compare.alone" : "view.compare.alone.drop");
        p.tell(words);
        p.paragraph(words, {kPad + 8, 20}, Face::body, Token::mute,
                    std::min(720.F, input.size.width - 2 * kPad - 16));
        return p.take();
    }
    return Comparison(input, runs, options).draw();
}

}  // namespace meshscope::view
