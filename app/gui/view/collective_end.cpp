// Members that a call does without: those that have not called it, died in it, or called something else.
#include <algorithm>

#include "app/gui/view/collective_picture.h"
#include "app/gui/view/common.h"
#include "app/gui/view/format.h"

namespace meshscope::view {

GroupLayout CollectivePicture::with_absent(const CollectiveState& s, Rect room) {
    const std::vector<int32_t> missing = absent_ranks();
    if (missing.empty()) return lay_out_group(s, room);
    // Laid out as if all were there; what is recorded keeps its own positions.
    CollectiveState whole = s;
    whole.ranks = group(own_).ranks;
    whole.nodes.clear();
    for (const int32_t rank : whole.ranks) whole.nodes.push_back(node_of_rank(rank));
    const auto position = [&](int32_t member) {
        const auto found = std::ranges::find(whole.ranks, s.ranks[static_cast<std::size_t>(member)]);
        return static_cast<int32_t>(found - whole.ranks.begin());
    };
    for (HopState& hop : whole.hops) {
        hop.sender = position(hop.sender);
        hop.receiver = position(hop.receiver);
    }
    GroupLayout place = lay_out_group(whole, room);
    GroupLayout there = place;
    there.members.clear();
    there.buffers.clear();
    for (std::size_t m = 0; m < whole.ranks.size(); ++m) {
        if (std::ranges::count(missing, whole.ranks[m]) > 0) {
            absent_place(whole.ranks[m], place.members[m], place.cards);
            continue;
        }
        there.members.push_back(place.members[m]);
        if (m < place.buffers.size()) there.buffers.push_back(place.buffers[m]);
    }
    return there;
}

void CollectivePicture::absent_place(int32_t rank, const Rect& box, bool card) {
    const Id id{"rank", rank};
    p_.layer = kCards;
    const bool chosen = in_.selection.rank == rank;
    Shape& empty = card ? p_.rect(box, Token::ghost, 12, id)
                        : p_.circle({box.x + box.w / 2, box.y + box.h / 2}, box.w / 2, Token::ghost, id);
    empty.fill_alpha = 0.4F;
    empty.stroke = chosen ? Token::sel : Token::warn;
    empty.stroke_style = Stroke::dashed;
    empty.width = 1.6F;
    p_.layer = kCells;
    if (!card) {
        const std::string number = p_.fit({std::to_string(rank)}, Face::mono_small, box.w - 4);
        if (!number.empty() && box.h >= 16)
            p_.label(box, number, Face::mono_small, Token::soft, Token::none, id);
        return;
    }
    const float pad = box.w > 150 ? 12.F : 7.F, room = box.w - 2 * pad, line = p_.line_height(Face::body);
    float y = box.y + 5;
    const auto say = [&](const std::vector<std::string>& choices, Face face, Token colour) {
        const float high = p_.line_height(face);
        if (y + high > box.y + box.h - 2) return;
        const std::string words = p_.fit(choices, face, room);
        if (words.empty()) return;
        p_.label({box.x + pad, y, room, high}, words, face, colour, Token::none, id, Align::left);
        y += high + 1;
    };
    say({"rank " + std::to_string(rank), std::to_string(rank)}, Face::body, Token::soft);
    y = std::max(y, box.y + 5 + line);
    const RankEnd* stood = options_.end == nullptr ? nullptr : options_.end->waits.at(rank);
    const std::string_view mark = stood == nullptr ? "" : mark_of(*options_.end, rank);
    say({p_.say("view.end.absent"), p_.say("view.end.absent.short")}, Face::caption, Token::warn);
    if (stood == nullptr) return;
    if (mark == "lost" || mark == "stalled") {
        say({p_.say("view.end." + std::string(mark))}, Face::caption, Token::err);
    } else if (stood->stands == RankEnd::Stands::finished) {
        say({p_.say("view.end.finished")}, Face::caption, Token::soft);
    } else if (stood->call >= 0) {
        const trace::Event& call = in_.trace.event(rank, stood->call);
        const std::string full = call_in_short(in_.trace, call);
        say({p_.say("view.end.in", {arg("call", full)}),
             p_.say("view.end.in", {arg("call", std::string(name(call.op)))}),
             p_.say("view.end.in", {arg("call", op_mark(call.op) + " #" + std::to_string(call.sequence))})},
            Face::caption, Token::soft);
    }
}

const RankEnd* CollectivePicture::stood_here(const CollectiveState& s, std::size_t m) const {
    if (options_.end == nullptr) return nullptr;
    const int32_t rank = s.ranks[m];
    const RankEnd* stood = options_.end->waits.at(rank);
    if (stood == nullptr || stood->call != s.buffers[m].event) return nullptr;
    return in_.cursor.t_ns >= stood_ns(in_.clock, options_.end->waits, rank) ? stood : nullptr;
}

std::string CollectivePicture::end_words(const CollectiveState& s, std::size_t m, float room) {
    const RankEnd* stood = stood_here(s, m);
    if (stood == nullptr) return "";
    const int32_t rank = s.ranks[m];
    const auto& calls = options_.end->waits.calls;
    const std::string_view mark = mark_of(*options_.end, rank);
    if (mark == "lost" || mark == "stalled")
        return p_.fit({p_.say("view.end." + std::string(mark))}, Face::caption, room);
    if (static_cast<std::size_t>(rank) >= calls.size()) return "";
    // Of a mismatch elements and bytes, to be compared with those of the others.
    const CallReport& call = calls[static_cast<std::size_t>(rank)];
    const auto dtype = parse_dtype(call.dtype);
    if (call.op.empty() || !dtype) return call.op;
    const std::string bytes = format_exact_bytes(call.in_elements * bytes_per_element(*dtype));
    const std::string sizes =
        p_.say("view.end.collective.in", {arg("in", format_count(call.in_elements)),
                                          arg("out", format_count(call.out_elements)), arg("bytes", bytes)});
    tell_.push_back("rank " + std::to_string(rank) + ": " + call.op + " " + sizes);
    if (call.op != name(own().op)) return p_.fit({call.op + " " + sizes, call.op}, Face::caption, room);
    return p_.fit({sizes, bytes}, Face::caption, room);
}

void CollectivePicture::card_end(const CollectiveState& s, std::size_t m, const Rect& box,
                                 const std::string& words, const Rect& foot) {
    if (stood_here(s, m) == nullptr) return;
    const std::string_view mark = mark_of(*options_.end, s.ranks[m]);
    const Id id{"end", s.ranks[m]};
    p_.layer = kSelected;
    if (!mark.empty()) {
        auto& outline = p_.outline(box, Token::err, 2, 12, id);
        if (mark != "lost" && mark != "stalled") outline.stroke_style = Stroke::dashed;
    }
    if (!words.empty())
        p_.label(foot, words, Face::caption, mark.empty() ? Token::soft : Token::err, Token::none, id);
}

}  // namespace meshscope::view
