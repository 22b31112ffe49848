// How a run that broke off left its ranks: crossed out, waiting, and for whom.
#include <algorithm>
#include <cmath>

#include "app/gui/view/common.h"
#include "app/gui/view/format.h"
#include "app/gui/view/mesh_picture.h"
#include "core/base/rank_set.h"

namespace meshscope::view {
namespace {

using Stands = RankEnd::Stands;

/// Lines that are drawn; of more, those to a rank that does not wait itself, and of yet more none: sentences
/// in the legend tell them.
constexpr std::size_t kMostLines = 64;
/// Of one rank.
constexpr std::size_t kMostOfOne = 4;
constexpr float kRing = 5;

bool crosses(const Rect& box, Point a, Point b) {
    constexpr int kParts = 24;
    for (int k = 1; k < kParts; ++k) {
        const float t = static_cast<float>(k) / kParts;
        if (box.contains({a.x + (b.x - a.x) * t, a.y + (b.y - a.y) * t})) return true;
    }
    return false;
}

}  // namespace

const RankEnd* MeshPicture::stood(int64_t rank) const {
    if (end_ == nullptr) return nullptr;
    const auto r = static_cast<int32_t>(rank);
    const RankEnd* stood = end_->waits.at(r);
    return stood != nullptr && in_.cursor.t_ns >= stood_ns(in_.clock, end_->waits, r) ? stood : nullptr;
}

std::string_view MeshPicture::end_mark(int64_t rank) const {
    const RankEnd* stands = stood(rank);
    if (stands == nullptr) return "";
    if (const auto mark = mark_of(*end_, static_cast<int32_t>(rank)); !mark.empty()) return mark;
    if (stands->stands == Stands::waiting) return "waiting";
    return stands->stands == Stands::finished ? "finished" : "";
}

void MeshPicture::card_end(int64_t i, const Rect& b, float y, float pad, float line) {
    const int64_t rank = q_.ranks[static_cast<std::size_t>(i)];
    const RankEnd& stands = *stood(rank);
    const auto& events = in_.trace.ranks[static_cast<std::size_t>(rank)].events;
    const std::string_view mark = end_mark(rank);
    const bool bad = mark == "lost" || mark == "stalled";
    const float room = b.w - 2 * pad - (bad ? 26.F : 0.F);
    // The call with its unit and number, its name alone, its mark: what fits.
    const auto calls_of = [&](int32_t event) {
        const trace::Event& e = events[static_cast<std::size_t>(event)];
        std::vector<std::string> calls{call_in_short(in_.trace, e)};
        if (e.kind == trace::EventKind::collective) {
            calls.push_back(std::string(name(e.op)) + " #" + std::to_string(e.sequence));
            calls.emplace_back(name(e.op));
            calls.push_back(op_mark(e.op) + calls[0].substr(std::string(name(e.op)).size()));
            calls.push_back(op_mark(e.op) + " #" + std::to_string(e.sequence));
        }
        return calls;
    };
    const auto of_call = [&](const char* id, int32_t event) {
        std::vector<std::string> choices;
        for (const std::string& call : calls_of(event)) choices.push_back(p_.say(id, {arg("call", call)}));
        return choices;
    };
    std::vector<std::pair<std::vector<std::string>, Token>> lines;
    const Token first = bad                                       ? Token::text
                        : mark == "mismatch" || mark == "corrupt" ? Token::err
                                                                  : Token::soft;
    if (bad && stands.call >= 0) {
        const auto choices =
            of_call(mark == "lost" ? "view.end.lost.in" : "view.end.stalled.in", stands.call);
        // On two lines where only the call's mark would have room on one.
        const bool two =
            p_.fit({choices.begin(), choices.begin() + std::min<std::ptrdiff_t>(3, std::ssize(choices))},
                   Face::caption, room)
                .empty() &&
            y + 2 * (line - 2) <= b.y + b.h - 2;
        if (two) {
            lines.emplace_back(std::vector{p_.say("view.end." + std::string(mark))}, first);
            lines.emplace_back(calls_of(stands.call), first);
        } else {
            lines.emplace_back(choices, first);
        }
    } else if (bad)
        lines.emplace_back(std::vector{p_.say("view.end." + std::string(mark))}, first);
    else if (stands.stands == Stands::finished)
        lines.emplace_back(std::vector{p_.say("view.end.finished")}, first);
    else if (stands.call >= 0)
        lines.emplace_back(of_call("view.end.in", stands.call), first);
    else
        lines.emplace_back(std::vector{p_.say(stands.stands == Stands::unrecorded ? "view.end.unrecorded.rank"
                                                                                  : "view.end.running")},
                           first);
    if (stands.stands == Stands::waiting)
        lines.emplace_back(
            std::vector{p_.say("view.end.waits_for", {arg("whom", rank_list(stands.waits_for))}),
                        p_.say("view.end.waits_for.many",
                               {arg("count", format_count(std::ssize(stands.waits_for)))})},
            Token::warn);
    else if (static_cast<std::size_t>(rank) < end_->waits.calls.size() &&
             !end_->waits.calls[static_cast<std::size_t>(rank)].op.empty()) {
        const CallReport& call = end_->waits.calls[static_cast<std::size_t>(rank)];
        const std::string sizes = format_count(call.in_elements) + " → " + format_count(call.out_elements);
        lines.emplace_back(std::vector{signature(call), sizes + " " + call.dtype, sizes}, first);
    } else if (stands.last >= 0 && stands.stands != Stands::in_call) {
        lines.emplace_back(of_call("view.end.last", stands.last), Token::mute);
    }
    const float step = line - 2;  // close together, so that both fit
    for (const auto& [choices, colour] : lines) {
        if (y + step > b.y + b.h - 2) return;
        const std::string words = p_.fit(choices, Face::caption, room);
        if (!words.empty())
            p_.label({b.x + pad, y, room, step}, words, Face::caption, colour, Token::none, {"end", rank},
                     Align::left);
        y += step;
    }
}

void MeshPicture::mark_end(int64_t i) {
    const int64_t rank = q_.ranks[static_cast<std::size_t>(i)];
    const std::string_view mark = end_mark(rank);
    if (mark.empty()) return;
    const bool bad = mark == "lost" || mark == "stalled",
               odd = mark == "mismatch" || mark == "missing" || mark == "corrupt";
    const Token hue = bad || odd ? Token::err : mark == "waiting" ? Token::warn : Token::ok;
    const Id id{"end", rank};
    const Rect b = body(i);
    p_.layer = kRanks;
    if (detail_ == Detail::square) {
        if (mark == "finished") return;
        Shape& square = p_.rect(b, bad ? Token::inset : hue, 0, id);
        if (!bad) return;
        square.stroke = hue;
        p_.layer = kSelected;
        p_.cross(pos(i), std::max(4.F, b.w / 2 - 2), hue, 2, id);
        return;
    }
    const bool card = detail_ == Detail::card;
    if (mark == "finished") {
        p_.layer = kSelected;
        p_.tick(card ? Point{b.x + b.w - 20, b.y + b.h - 16} : Point{b.x + b.w - 3, b.y + b.h - 3}, 11, hue,
                2);
        return;
    }
    // The outline of what died is as wide as can be told from one that is selected.
    const auto outlined = [&](float grow, float width) -> Shape& {
        if (card)
            return p_.outline({b.x - grow, b.y - grow, b.w + 2 * grow, b.h + 2 * grow}, hue, width, 12, id);
        Shape& ring = p_.circle(pos(i), radius_ + grow, Token::none, id);
        ring.pattern = Fill::none;
        ring.stroke = hue;
        ring.width = width;
        return ring;
    };
    if (bad && card) {
        // Under its words: they were drawn in a layer above.
        auto& dead = p_.rect({b.x + 1, b.y + 1, b.w - 2, b.h - 2}, Token::inset, 11, id);
        dead.pattern = Fill::hatch;
        dead.hatch = Token::err;
        auto& veil = p_.rect({b.x + 2, b.y + 2, b.w - 4, b.h - 4}, Token::inset, 10);
        veil.fill_alpha = 0.86F;
    }
    outlined(0, bad ? 2.2F : 1.8F).stroke_style = odd ? Stroke::dashed : Stroke::solid;
    p_.layer = kSelected;
    if (bad && card)
        p_.cross({b.x + b.w - 22, b.y + b.h - std::min(22.F, b.h / 2)}, std::min(9.F, b.h / 3), Token::err,
                 3.2F, id);
    else if (bad)
        p_.cross(pos(i), radius_ * 0.72F, Token::err, 2.4F, id);
}

std::vector<std::pair<int64_t, int64_t>> MeshPicture::wait_lines() const {
    std::vector<std::pair<int64_t, int64_t>> lines;
    if (end_ == nullptr || detail_ == Detail::square) return lines;
    for (const bool direct : {false, true}) {
        lines.clear();
        for (int64_t i = 0; i < count_ && lines.size() <= kMostLines; ++i) {
            const RankEnd* stands = stood(q_.ranks[static_cast<std::size_t>(i)]);
            if (stands == nullptr || stands->stands != Stands::waiting || (direct && stands->through > 0))
                continue;
            if (stands->waits_for.size() > kMostOfOne) continue;
            for (const int32_t rank : stands->waits_for)
                if (const int64_t to = q_.index_of(rank); to >= 0) lines.emplace_back(i, to);
        }
        if (lines.size() <= kMostLines) return lines;
    }
    return {};
}

void MeshPicture::waits() {
    p_.layer = kSelected;
    for (const auto& [from, to] : wait_lines()) wait_line(from, to);
}

Point MeshPicture::leave(int64_t i, Point towards, float margin) const {
    const Point c = pos(i);
    const float dx = towards.x - c.x, dy = towards.y - c.y, length = std::max(1.F, std::hypot(dx, dy));
    const Point u{dx / length, dy / length};
    float reach = radius_;
    if (detail_ == Detail::card) {
        const float w = card_.w / 2, h = card_.h / 2;
        reach = std::min(std::fabs(u.x) < 1e-3F ? 1e6F : w / std::fabs(u.x),
                         std::fabs(u.y) < 1e-3F ? 1e6F : h / std::fabs(u.y));
    }
    reach += margin;
    return {c.x + u.x * reach, c.y + u.y * reach};
}

void MeshPicture::wait_line(int64_t from, int64_t to) {
    const int64_t rank = q_.ranks[static_cast<std::size_t>(from)];
    const RankEnd& stands = *stood(rank);
    const Id id{"wait", rank, stands.call};
    const Point a = pos(from), b = pos(to);
    bool past = false;  // others stand between
    for (int64_t i = 0; i < count_ && !past; ++i) past = i != from && i != to && crosses(body(i), a, b);
    // Two that wait for each other have a line each; between others a line is straight.
    const auto& back =
        end_->waits.at(static_cast<int32_t>(q_.ranks[static_cast<std::size_t>(to)]))->waits_for;
    const bool both = std::ranges::count(back, static_cast<int32_t>(rank)) > 0;
    const float length = std::max(1.F, std::hypot(b.x - a.x, b.y - a.y));
    Point n{-(b.y - a.y) / length, (b.x - a.x) / length};
    if (past && (n.y < 0 || (std::fabs(n.y) < 0.2F && n.x < 0))) n = {-n.x, -n.y};
    const float half = detail_ == Detail::card ? (std::fabs(n.y) > 0.5F ? card_.h : card_.w) / 2 : radius_;
    const float bow = past ? half + 22 + std::min(30.F, length * 0.03F) : both ? 14.F : 0.F;
    Point end;
    Shape* line = nullptr;
    if (bow > 0) {
        const Point c1{a.x + (b.x - a.x) * 0.25F + n.x * bow, a.y + (b.y - a.y) * 0.25F + n.y * bow},
            c2{a.x + (b.x - a.x) * 0.75F + n.x * bow, a.y + (b.y - a.y) * 0.75F + n.y * bow};
        end = leave(to, c2, 1 + kRing);
        const Point tip = leave(to, c2, 1 + 2 * kRing);
        line = &p_.bezier(leave(from, c1, 3), c1, c2, tip, Token::warn, 2);
    } else {
        end = leave(to, a, 1 + kRing);
        line = &p_.line(leave(from, b, 3), leave(to, a, 1 + 2 * kRing), Token::warn, 2);
    }
    line->stroke_style = Stroke::dotted;
    line->id = id;
    auto& ring = p_.circle(end, kRing, Token::bg, id);
    ring.stroke = Token::warn;
    ring.width = 2;
    if (bow > 0 || detail_ != Detail::card || stands.call < 0) return;
    const auto& e = in_.trace.event(static_cast<int32_t>(rank), stands.call);
    if (e.group < 0) return;
    const auto& group = in_.trace.groups[static_cast<std::size_t>(e.group)];
    const std::string words = group.mesh_dim + " " + format_ranks({group.ranks.begin(), group.ranks.end()});
    const auto at = std::ranges::find(q_.names, group.mesh_dim);
    const Token hue =
        at == q_.names.end() ? Token::soft : q_.hue(static_cast<std::size_t>(at - q_.names.begin()));
    const Point middle{(a.x + b.x) / 2, (a.y + b.y) / 2};
    const float high = p_.line_height(Face::mono_small);
    const bool across = std::fabs(b.x - a.x) > std::fabs(b.y - a.y);
    const float w = p_.width(words, Face::mono_small);
    for (const Point at_place :
         {across ? Point{middle.x - w / 2, middle.y - high - 4} : Point{middle.x + 12, middle.y - high / 2},
          across ? Point{middle.x - w / 2, middle.y + 6} : Point{middle.x - 12 - w, middle.y - high / 2}})
        if (!crossed({at_place.x, at_place.y + 2, w, high - 4}) &&
            p_.try_text(words, at_place, Face::mono_small, hue))
            return;
}

void MeshPicture::end_legend() {
    if (end_ == nullptr) return;
    const float line = p_.line_height(Face::caption), y = in_.size.height - line - 6, middle = y + line / 2;
    float x = 16;
    p_.layer = kWords;
    const Id id{"end"};
    const auto entry = [&](const std::string& words_id, float mark, const auto& draw) {
        const std::string words = p_.say(words_id);
        const float w = mark + 6 + p_.width(words, Face::caption);
        if (x + w > in_.size.width - 16) return;
        draw(x);
        p_.text(words, {x + mark + 6, y}, Face::caption, Token::soft, Align::left, id);
        x += w + 20;
    };
    const auto any = [&](std::string_view mark) {
        return std::ranges::any_of(q_.ranks, [&](int64_t rank) { return end_mark(rank) == mark; });
    };
    const bool squares = detail_ == Detail::square;
    if (any("waiting") && squares)
        entry("view.end.legend.waiting", 10, [&](float at) {
            p_.rect({at, middle - 5, 10, 10}, Token::warn, 0, id);
        });
    else if (any("waiting"))
        entry("view.end.legend.waits", 52, [&](float at) {
            p_.line({at, middle}, {at + 42, middle}, Token::warn, 2).stroke_style = Stroke::dotted;
            auto& ring = p_.circle({at + 47, middle}, 4, Token::bg, id);
            ring.stroke = Token::warn;
            ring.width = 1.8F;
        });
    for (const std::string mark : {"lost", "stalled"})
        if (any(mark))
            entry("view.end.legend." + mark, 12, [&](float at) {
                p_.cross({at + 6, middle}, 5, Token::err, 2.2F, id);
            });
    for (const std::string mark : {"mismatch", "missing", "corrupt"})
        if (any(mark))
            entry("view.end.legend." + mark, 16, [&](float at) {
                if (squares) {
                    p_.rect({at + 2, middle - 5, 10, 10}, Token::err, 0, id);
                    return;
                }
                p_.outline({at, middle - 5, 16, 10}, Token::err, 1.6F, 3, id).stroke_style = Stroke::dashed;
            });
    if (any("finished") && !squares)
        entry("view.end.legend.finished", 12, [&](float at) { p_.tick({at + 6, middle}, 11, Token::ok, 2); });
    // Where somebody waits without a line the sentences stand in its place.
    const auto lines = wait_lines();  // by who waits, ascending
    int64_t i = -1;
    const bool all_drawn = std::ranges::all_of(q_.ranks, [&](int64_t rank) {
        ++i;
        return end_mark(rank) != "waiting" ||
               std::ranges::binary_search(lines, i, {}, &std::pair<int64_t, int64_t>::first);
    });
    if (all_drawn) return;
    std::vector<std::string> choices{""};
    for (const Message& sentence : end_->waits.sentences) {
        const std::string words = p_.say(sentence.id, sentence.args);
        choices[0] += (choices[0].empty() || in_.language == Language::zh ? "" : " ") + words;
        choices.push_back(words);
    }
    std::reverse(choices.begin() + 1, choices.end());
    const std::string words = p_.fit(choices, Face::caption, in_.size.width - 16 - x);
    if (!words.empty()) p_.text(words, {x, y}, Face::caption, Token::warn, Align::left, id);
}

void MeshPicture::tell_end() {
    if (end_ == nullptr) return;
    for (const Message& sentence : end_->waits.sentences) p_.tell(p_.say(sentence.id, sentence.args));
}

}  // namespace meshscope::view
