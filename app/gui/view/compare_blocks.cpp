#include "app/gui/view/compare_blocks.h"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "app/gui/view/common.h"
#include "app/gui/view/compare_table.h"
#include "app/gui/view/timeline_bars.h"
#include "app/gui/view/timeline_end.h"
#include "core/time/queue.h"

namespace meshscope::view {
namespace {

constexpr float kPad = kComparePad, kCard = kCompareCard;
constexpr float kBar = 18, kLaneGap = 3, kBlockPad = 10;

/// One run's block.
class Block {
  public:
    Block(Painter& painter, const CompareScene& scene, std::size_t run)
        : p_(painter),
          scene_(scene),
          run_(scene.runs[run]),
          f_(scene.figures[run]),
          first_(scene.figures.front()),
          unlike_(scene.unlike[run]),
          i_(run) {}

    float head_width() const {
        return std::max({std::min(180.F, p_.width(run_.name, Face::body) + 28),
                         p_.width(figure_time(f_.step_ns), Face::mono),
                         p_.width(exposed_words(p_, f_, true), Face::caption),
                         p_.width("rank 000", Face::caption) + 64});
    }

    float height() const {
        const auto lanes = static_cast<float>(lanes_of().size());
        const float bars = lanes * (kBar + kLaneGap) + 22;  // and the line of the difference below
        return std::max(head_height(), bars) + 2 * kBlockPad;
    }

    void draw(float top) {
        const float bottom = top + height();
        p_.layer = 1;
        if (i_ > 0) p_.line({kPad + kCard, top + 0.5F}, {right() - kCard, top + 0.5F}, Token::line);
        head(top + kBlockPad);
        float y = top + kBlockPad;
        if (run_.rank >= 0 && static_cast<std::size_t>(run_.rank) < run_.trace.ranks.size())
            for (const auto& part : overlap_of(run_, f_.step).exposed) {
                const float l = x(part.begin_ns - f_.zero_ns()), r = x(part.end_ns - f_.zero_ns());
                p_.layer = 1;
                p_.rect({l, top + 2, r - l, bottom - top - 4}, Token::warn, 0, {"exposed", index()})
                    .fill_alpha = 0.075F;
                p_.layer = 3;
                p_.rect({l, top + 2, r - l, 4}, Token::warn, 0, {"exposed", index()});
            }
        for (const Lane one : lanes_of()) {
            lane(one, y);
            y += kBar + kLaneGap;
        }
        // Where the step ends, and how that lies to the first run's end.
        p_.layer = 4;
        if (f_.step_ns >= 0)
            p_.line({x(f_.step_ns), top + 6}, {x(f_.step_ns), bottom - 4}, Token::sel, 1.4F).id = {"step_end",
                                                                                                   index()};
        if (i_ > 0) difference_line(top, bottom);
        broke_off(top, bottom);
        const bool judged = unlike_.verdict != Verdict::none;
        const std::string change = judged ? change_text(first_.step_ns, f_.step_ns) : "";
        p_.tell(run_.name + " · rank " + std::to_string(run_.rank) + " · " + step_words(p_, f_) + ": " +
                figure_time(f_.step_ns) + (i_ > 0 && !change.empty() ? " (" + change + ")" : "") + ", " +
                exposed_words(p_, f_, false));
    }

  private:
    float caption() const { return p_.line_height(Face::caption); }
    float right() const { return scene_.input.size.width - kPad; }
    float x(int64_t t) const { return scene_.axis.x(t); }
    int64_t index() const { return static_cast<int64_t>(i_); }

    std::vector<Lane> lanes_of() const {
        std::set<Lane> used;
        for (const trace::Event* e : events_of(run_, f_)) used.insert(lane_of(*e));
        if (used.empty()) used.insert(Lane::compute);
        std::vector<Lane> out;
        for (const Lane lane : lane_order())
            if (used.count(lane) != 0) out.push_back(lane);
        return out;
    }

    /// A long name takes several lines.
    std::vector<std::string> name_lines(float room) const { return p_.wrap(run_.name, Face::body, room); }
    float name_room() const { return scene_.axis.x0 - 20 - kPad - kCard - 24; }
    float head_height() const {
        return p_.line_height(Face::body) * static_cast<float>(name_lines(name_room()).size()) + 2 +
               p_.line_height(Face::mono) + 2 + 2 * caption() + 6 +
               caption() * static_cast<float>(own_lines().size());
    }
    /// Which step this is where that is not the same for all, and how the run ended early.
    std::vector<std::string> own_lines() const {
        std::vector<std::string> lines;
        if (!same_steps(scene_.figures)) lines = p_.wrap(step_words(p_, f_), Face::caption, name_room());
        if (run_.end == nullptr) return lines;
        const Message title = end_title(*run_.end);
        for (std::string& line : p_.wrap(p_.say(title.id, title.args), Face::caption, name_room()))
            lines.push_back(std::move(line));
        return lines;
    }

    /// Where in this step the run ended early.
    void broke_off(float top, float bottom) {
        if (run_.end == nullptr || run_.end->step != f_.step) return;
        const float at = x(broke_off_ns(run_.trace, run_.clock, *run_.end) - f_.zero_ns());
        p_.layer = 6;
        auto& line = p_.line({at, top + 4}, {at, bottom - 4}, Token::err, 2);
        line.stroke_style = Stroke::dashed;
        line.id = {"broke_off", index()};
        const bool values = run_.end->kind == RunEnd::Kind::not_finite;
        const std::string words = p_.say(values ? "view.end.mark.not_finite" : "view.end.mark");
        const Message title = end_title(*run_.end);
        p_.tell(run_.name + ": " + p_.say(title.id, title.args));
        p_.try_text(words, {at + 6, bottom - caption() - 6}, Face::caption, Token::err, Align::left,
                    {"broke_off", index()});
    }

    void close_mark(const Rect& box) {
        p_.rect(box, Token::none, 6, {"close_run", index()});
        p_.cross({box.x + 12, box.y + 12}, 4, Token::mute, 1.4F);
    }

    /// Name, whose lanes, the step's time and what of it is exposed.
    void head(float y) {
        const float left = kPad + kCard, room = scene_.axis.x0 - 20 - left;
        p_.layer = 5;
        const float line = p_.line_height(Face::body);
        if (run_.front) p_.rect({left - 10, y, 3, line}, Token::accent, 1.5F);
        if (!run_.fixed && !scene_.input.watched) close_mark({left + room - 20, y + line / 2 - 12, 24, 24});
        const auto names = name_lines(name_room());
        // As wide as there is room: a name may be shorter than can be pressed.
        p_.rect({left, y, name_room(), line * static_cast<float>(names.size())}, Token::none, 0,
                {"run", index()});
        for (const std::string& part : names) {
            p_.text(part, {left, y}, Face::body, run_.front ? Token::text : Token::soft, Align::left,
                    {"run", index()});
            y += line;
        }
        y += 2;
        p_.text(figure_time(f_.step_ns), {left, y}, Face::mono, Token::text);
        y += p_.line_height(Face::mono) + 2;
        const std::string exposed =
            p_.fit({exposed_words(p_, f_, false), exposed_words(p_, f_, true)}, Face::caption, room);
        if (!exposed.empty()) p_.text(exposed, {left, y}, Face::caption, Token::warn);
        y += caption() + 2;
        const std::size_t steps =
            same_steps(scene_.figures) ? 0 : p_.wrap(step_words(p_, f_), Face::caption, name_room()).size();
        const auto own = own_lines();
        for (std::size_t k = 0; k < own.size(); ++k) {
            p_.text(own[k], {left, y}, Face::caption, k < steps ? Token::text : Token::err);
            y += caption();
        }
        // Which rank: arrows where there are others.
        const std::string rank = "rank " + std::to_string(run_.rank);
        const bool others = run_.trace.ranks.size() > 1 && !run_.fixed && !scene_.input.watched;
        float at = left;
        const auto arrow = [&](const char* kind, float direction) {
            const Rect box{at, y + caption() / 2 - 12, 24, 24};
            p_.rect(box, Token::none, 6, {kind, index()});
            const Point c{box.x + 12, box.y + 12};
            p_.polygon(
                {{c.x - 3 * direction, c.y - 5}, {c.x + 4 * direction, c.y}, {c.x - 3 * direction, c.y + 5}},
                Token::soft, {kind, index()});
            at += 26;
        };
        if (others) arrow("lane_less", -1);
        const float wide = p_.width(rank, Face::caption);
        if (at + wide <= left + room) p_.text(rank, {at, y}, Face::caption, Token::soft);
        at += wide + 4;
        if (others) arrow("lane_more", 1);
    }

    void lane(Lane lane, float y) {
        const auto& times = run_.clock.events[static_cast<std::size_t>(run_.rank)];
        std::vector<Bar> bars;
        for (const trace::Event* e : events_of(run_, f_)) {
            if (lane_of(*e) != lane) continue;
            time::Interval t = times[static_cast<std::size_t>(e->id)];
            if (run_.end != nullptr && is_open(*run_.end, run_.rank, e->id)) {
                // In the queue behind another call that never ended: it did not begin.
                if (t.end_ns <= t.begin_ns && run_.end->waits.at(run_.rank)->call != e->id) continue;
                t.end_ns = std::max(t.begin_ns, std::min(t.end_ns, f_.span.end_ns));
            }
            bars.push_back({x(t.begin_ns - f_.zero_ns()), x(t.end_ns - f_.zero_ns()), e->id, 1,
                            time::queue_of(run_.trace, run_.clock, *e).group});
        }
        std::sort(bars.begin(), bars.end(), [](const Bar& a, const Bar& b) { return a.x0 < b.x0; });
        const auto& events = run_.trace.ranks[static_cast<std::size_t>(run_.rank)].events;
        for (const Bar& bar : merge_lane(bars, events)) one_bar(lane, bar, y);
    }

    void one_bar(Lane lane, const Bar& bar, float y) {
        const Id id = run_.front ? Id{"event", run_.rank, bar.event} : Id{"run_event", index(), bar.event};
        const auto [top, height] = row_of(bar, y, kBar);
        const Rect box{bar.x0 + 0.5F, top, std::max(1.5F, bar.x1 - bar.x0 - 1), height};
        p_.layer = 2;
        if (bar.count > 1) {
            p_.rect({bar.x0, top, std::max(2.F, bar.x1 - bar.x0), height}, lane_hue(lane), 0, id).fill_alpha =
                0.6F;
            return;
        }
        const trace::Event& e = run_.trace.event(run_.rank, bar.event);
        if (run_.end != nullptr && is_open(*run_.end, run_.rank, e.id))
            open_event_bar(p_, e, box, gone_ns(run_.clock, *run_.end, run_.rank).has_value(), id);
        else
            event_bar(p_, e, box, id);
        if (bar.rows == 1) bar_words(e, box, id);
        const bool picked = run_.front && scene_.input.selection.event_rank == run_.rank &&
                            scene_.input.selection.event == bar.event;
        if (!picked) return;
        p_.layer = 6;
        p_.outline({box.x - 3, box.y - 3, box.w + 6, box.h + 6}, Token::sel, 2, 5, id);
    }

    void bar_words(const trace::Event& e, const Rect& box, const Id& id) {
        Rect room = scene_.sees(scene_.cursor_ns) ? aside(box, x(scene_.cursor_ns)) : box;
        if (i_ > 0 && unlike_.verdict != Verdict::none && first_.step_ns >= 0)
            room = aside(room, x(first_.step_ns));  // the first run's end
        const std::string words = p_.fit(event_labels(p_, run_.trace, e), Face::caption, room.w - 8);
        if (!words.empty())
            event_bar_words(p_, e, room, words, Token::text,
                            e.kind == trace::EventKind::compute ? Token::compute : Token::none, id);
    }

    void difference_line(float top, float bottom) {
        if (unlike_.verdict == Verdict::none) return;
        const int64_t base = first_.step_ns, own = f_.step_ns;
        if (base < 0 || own < 0) return;
        const float from = x(base), to = x(own), y = bottom - 14;
        p_.layer = 1;  // under the bars
        p_.line({from, top + 6}, {from, bottom - 4}, Token::soft).stroke_style = Stroke::dashed;
        p_.layer = 4;
        const bool judged = unlike_.verdict == Verdict::better_or_worse;
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
                    {"difference", -1, index()});
    }

    Painter& p_;
    const CompareScene& scene_;
    const ComparedRun& run_;
    const RunFigures &f_, &first_;  // its own and the first run's
    const Unlike& unlike_;
    std::size_t i_;
};

}  // namespace

std::vector<const trace::Event*> events_of(const ComparedRun& run, const RunFigures& figures) {
    std::vector<const trace::Event*> out;
    if (run.rank < 0 || static_cast<std::size_t>(run.rank) >= run.trace.ranks.size()) return out;
    for (const trace::Event& e : run.trace.ranks[static_cast<std::size_t>(run.rank)].events)
        if (e.step == figures.step && e.phase != Phase::evaluation) out.push_back(&e);
    return out;
}

float block_head_width(Painter& painter, const CompareScene& scene, std::size_t run) {
    return Block(painter, scene, run).head_width();
}

float block_height(Painter& painter, const CompareScene& scene, std::size_t run) {
    return Block(painter, scene, run).height();
}

void draw_block(Painter& painter, const CompareScene& scene, std::size_t run, float top) {
    Block(painter, scene, run).draw(top);
}

}  // namespace meshscope::view
