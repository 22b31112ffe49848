#include "app/gui/view/collective_picture.h"

#include <algorithm>
#include <cmath>

#include "app/gui/view/call_landings.h"
#include "app/gui/view/collective_cells.h"
#include "app/gui/view/common.h"
#include "app/gui/view/format.h"
#include "app/gui/view/forms.h"
#include "app/gui/view/mesh_layout.h"
#include "app/gui/view/stepping.h"
#include "core/trace/recorded.h"

namespace meshscope::view {
namespace {

/// Bytes of a member's hops as its receivers recorded them, landed or not.
int64_t seen_to_send(const CollectiveState& s, std::size_t member) {
    int64_t bytes = 0;
    for (const HopState& hop : s.hops)
        if (static_cast<std::size_t>(hop.sender) == member) bytes += hop.hop.bytes;
    return bytes;
}

/// In a run that failed, a call may have ended on some of its members only: on one that it did not, the
/// record counts no bytes, though others received some of it.
bool broke_off_on(const trace::Trace& trace, const CollectiveState& s, std::size_t member) {
    if (trace.info.failure.empty() || is_point_to_point(s.op)) return false;
    const BufferState& its = s.buffers[member];
    return seen_to_send(s, member) > trace.event(its.rank, its.event).sent_bytes;
}

/// The end of a message's id: whether the ranks that receive in this round add what comes or copy it; of a
/// tree also which way it goes.
std::string how_received(const CollectiveState& s) {
    bool adds = false, copies = false;
    for (const HopState& hop : s.hops) {
        if (hop.hop.round != s.round) continue;
        (hop.hop.reduces ? adds : copies) = true;
    }
    if (adds && copies) return "both";
    if (s.algorithm == Algorithm::tree) return adds ? "up" : "down";
    return adds ? "adding" : "copying";
}

bool broke_off(const trace::Trace& trace, const CollectiveState& s) {
    for (std::size_t m = 0; m < s.buffers.size(); ++m)
        if (broke_off_on(trace, s, m)) return true;
    return false;
}

}  // namespace

Picture CollectivePicture::draw() {
    const float top = header();
    float bottom = absent(footer());
    // The row of all hops comes last: only where the ranks keep room for their cards.
    const float h = std::clamp(in_.size.height * 0.28F, 120.F, 250.F);
    const bool pairs = own().ranks.size() <= 2;
    const float need = pairs ? 130.F * static_cast<float>(std::min<std::size_t>(states_.size(), 4)) : 250.F;
    if (options_.overview && bottom - top - h - 12 >= need) {
        if (draw_overview(p_, in_.trace, instances_[own_], own(),
                          {kPad, bottom - h, in_.size.width - 2 * kPad, h}))
            bottom -= h + 12;
    }
    groups({kPad, top, in_.size.width - 2 * kPad, bottom - top});
    tell();
    return p_.take();
}

float CollectivePicture::header() {
    p_.layer = kWords;
    const auto& s = own();
    const auto& e = event();
    const std::string op(name(e.op)), phase = p_.say("view.phase." + std::string(name(e.phase)));
    const std::string unit(in_.trace.text(e.unit));
    const bool alone_unit = !unit.empty() && (unit == name(e.phase) || !has_phases(in_.trace));
    std::string where = alone_unit ? unit : phase;
    if (!unit.empty() && !alone_unit)
        where = p_.say("view.collective.where", {arg("unit", unit), arg("phase", phase)});
    if (tells_microbatch(in_.trace, shown_.rank, e))
        where = p_.say("view.collective.microbatch", {arg("where", where), arg("microbatch", e.microbatch)});
    const std::vector<MessageArg> args{
        arg("where", where), arg("hop", int64_t{std::min(s.round + 1, s.rounds)}), arg("hops", s.rounds)};
    // A record that was cut off may have one rank of many in it.
    const bool alone = in_.trace.groups[static_cast<std::size_t>(e.group)].ranks.size() < 2;
    const bool over = s.finished || s.round >= s.rounds;
    const char* hopless = alone                                       ? "alone"
                          : !tells_sent_bytes(e)                      ? "native"
                          : in_.trace.info.level < trace::Level::hops ? "no_hops"
                                                                      : "still";
    const char* state = s.rounds == 0 ? hopless
                        : !s.begun    ? "coming"
                        : !over       ? "hop"
                                      : (broke_off(in_.trace, s) ? "broke" : "done");
    const std::string full = p_.say(std::string("view.collective.") + state, args);
    const std::string brief = p_.say(std::string("view.collective.") + state + ".short", args);
    tell_.push_back(op + "  " + full);
    std::vector<std::string> titles{full, brief};
    if (s.begun && !over && s.rounds > 0 && !options_.covered) {
        // What the receivers do with what comes.
        std::vector<MessageArg> said = args;
        said.push_back(arg("how", p_.say("view.collective.how." + how_received(s))));
        titles = {p_.say("view.collective.hop.how", said), p_.say("view.collective.hop.how.short", said),
                  full, brief};
    }
    const float y = 10, x = kPad + 4;
    p_.text(op, {x, y}, Face::mono_title, op_hue(e.op), Align::left, {"title"});
    float after = x + p_.width(op, Face::mono_title) + 14;
    // The other form, where it leaves room for the title.
    const std::vector<Chip> forms = form_chips(p_, Form::one);
    const float forms_end = after + chips_width(p_, forms) + 14;
    if (options_.forms && has_parts(e.op) && in_.size.height >= 300 &&
        forms_end + p_.width(brief, Face::body) <= in_.size.width - kPad) {
        draw_chips(p_, forms, {after, y + (p_.line_height(Face::mono_title) - kChip) / 2}, forms_end);
        after = forms_end;
    }
    const float body_y = y + (p_.line_height(Face::mono_title) - p_.line_height(Face::body)) / 2;
    float bottom = y + p_.line_height(Face::mono_title) + 6;
    const float right = in_.size.width - kPad, whole = right - kPad - 4;
    std::string words = p_.fit(titles, Face::body, right - after);
    // The legend stands beside the title, else on a line of its own. In low pictures it takes no line as long
    // as shorter words, of its own or of the title, make room for it.
    // Where not all have room an arrow says what is sent, or dots how full a cell is.
    const auto fitting = [&](bool all_words) {
        const auto all = legend(all_words);
        auto made = all;
        for (const auto& left_out : {std::vector{Sign::leaving}, std::vector{Sign::partial},
                                     std::vector{Sign::leaving, Sign::partial}}) {
            if (legend_width(made) <= whole) break;
            made = all;
            std::erase_if(made,
                          [&](const Entry& entry) { return std::ranges::count(left_out, entry.sign) > 0; });
        }
        return made;
    };
    const auto entries = fitting(true), short_entries = fitting(false);
    const float w = legend_width(entries), w_short = legend_width(short_entries);
    const float gap = in_.size.height < 300 ? 16.F : 24.F;
    const auto room = [&](const std::string& title) {
        return right - after - p_.width(title, Face::body) - gap;
    };
    const bool low = in_.size.height < 300;
    const auto* chosen = &entries;
    bool line = false;
    if (w > room(words)) {
        const bool beside = low && w_short <= room(brief);
        line = !beside;
        if (beside || w > whole) chosen = &short_entries;
        if (beside && w_short > room(words)) words = brief;
    }
    if (!words.empty()) p_.text(words, {after, body_y}, Face::body, Token::text, Align::left, {"title"});
    const float wide = legend_width(*chosen);
    if (chosen->empty()) return bottom;
    const float below = draw_legend(*chosen, line ? kPad + 4 : right - wide, line ? bottom : body_y);
    return line ? below + 6 : bottom;
}

std::vector<CollectivePicture::Entry> CollectivePicture::legend(bool full) const {
    const auto& s = own();
    std::vector<Entry> entries;
    const std::string head = states_.size() > 1 ? group(own_).mesh_dim + " = " : "rank ";
    for (std::size_t m = 0; m < s.ranks.size() && s.ranks.size() <= 8; ++m) {
        const std::string number = states_.size() > 1 ? std::to_string(m) : std::to_string(s.ranks[m]);
        // Short: the first says what the others' numbers are.
        entries.push_back({full || m == 0 ? head + number : number, Sign::owner, static_cast<int64_t>(m)});
    }
    const std::string brief = full ? "" : ".short";
    bool padded = false;
    for (const auto& b : s.buffers)
        for (const auto& piece : b.pieces) padded = padded || piece.padding > 0;
    if (padded) entries.push_back({p_.say("view.collective.padding" + brief), Sign::padding});
    if (!moves_origins(s.op))
        entries.push_back(
            {p_.say("view.collective.complete" + brief, {arg("ranks", static_cast<int64_t>(s.ranks.size()))}),
             Sign::complete});
    if (!moves_origins(s.op) && s.rounds > 0 && in_.size.height >= 300) {
        entries.push_back({p_.say("view.collective.partial"), Sign::partial});
        const std::string how = how_received(s);
        const bool replaces = full && (how == "copying" || how == "down");
        entries.push_back(
            {p_.say(replaces ? "view.collective.replacing" : "view.collective.arriving" + brief),
             Sign::arriving});
        entries.push_back({p_.say("view.collective.leaving"), Sign::leaving});
    }
    return entries;
}

float CollectivePicture::legend_width(const std::vector<Entry>& entries) const {
    float total = 0;
    for (const auto& e : entries) total += (total > 0 ? 18.F : 0.F) + 20 + p_.width(e.words, Face::caption);
    return total;
}

float CollectivePicture::draw_legend(const std::vector<Entry>& entries, float x, float y) {
    const float line = p_.line_height(Face::caption);
    for (const auto& e : entries) {
        const float w = 20 + p_.width(e.words, Face::caption);
        if (x + w > in_.size.width - kPad + 0.5F && x > kPad + 4) {
            x = kPad + 4;
            y += line;
        }
        draw_sign(e, {x + 6, y + line / 2 + 1});
        p_.text(e.words, {x + 20, y}, Face::caption, Token::soft);
        x += w + 18;
    }
    return y + line;
}

void CollectivePicture::draw_sign(const Entry& entry, Point centre) {
    const Rect box{centre.x - 6, centre.y - 6, 12, 12};
    switch (entry.sign) {
        case Sign::owner:
            p_.symbol(centre, 5.5F, entry.origin);
            return;
        case Sign::padding: {
            auto& padding = p_.rect(box, Token::inset, 3);
            padding.pattern = Fill::hatch;
            padding.hatch = padding.stroke = Token::line2;
            padding.stroke_style = Stroke::dashed;
            return;
        }
        case Sign::complete:
            p_.rect(box, Token::ok, 3).fill_alpha = 0.42F;
            return;
        case Sign::partial:
            p_.rect(box, Token::inset, 3);
            p_.rect({box.x, box.y + box.h / 2, box.w, box.h / 2}, Token::accent, 3).fill_alpha = 0.36F;
            return;
        case Sign::arriving:
            p_.outline(box, Token::soft, 1.6F, 3).stroke_style = Stroke::dashed;
            return;
        case Sign::leaving:
            p_.outline(box, Token::soft, 1.6F, 3);
            return;
    }
}

float CollectivePicture::footer() {
    const auto& s = own();
    const float line = p_.line_height(Face::mono_small), y = in_.size.height - line - 10;
    std::size_t m = 0;
    for (std::size_t i = 0; i < s.ranks.size(); ++i)
        if (s.ranks[i] == shown_.rank) m = i;
    const auto& e = in_.trace.event(s.buffers[m].rank, s.buffers[m].event);
    if (s.rounds == 0 || options_.covered) return in_.size.height - 12;
    const auto formula = byte_formula(in_.trace, e);
    // Of a call that broke off nobody knows how much it was to be; at its end all that others received of it
    // was sent, whatever the modelled clock makes of hops that were never over.
    const bool broke = broke_off_on(in_.trace, s, m);
    const bool over = s.round >= s.rounds || in_.cursor.t_ns >= in_.clock.end_ns;
    const int64_t sent_bytes = broke && over ? seen_to_send(s, m) : s.buffers[m].sent_bytes;
    const std::vector<MessageArg> args{arg("rank", s.buffers[m].rank), arg("sent", format_count(sent_bytes)),
                                       arg("all", format_exact_bytes(e.sent_bytes))};
    const std::string sent = !broke ? "view.collective.sent"
                             : over ? "view.collective.sent.broke"
                                    : "view.collective.sent.so_far";
    const std::string full = p_.say(sent, args), brief = p_.say(sent + ".short", args);
    tell_.push_back(full +
                    (formula ? "  " + formula->text + " = " + format_exact_bytes(formula->bytes) : ""));
    p_.layer = kWords;
    const Id id{"bytes"};
    const std::string left = p_.fit({full, brief}, Face::caption, in_.size.width - 2 * kPad);
    p_.text(left, {kPad + 4, y}, Face::caption, Token::soft, Align::left, id);
    float x0 = kPad + 4 + p_.width(left, Face::caption) + 16, x1 = in_.size.width - kPad - 4;
    if (formula) {
        const std::string words = p_.fit(
            {formula->text + " = " + format_exact_bytes(formula->bytes), format_exact_bytes(formula->bytes)},
            Face::mono_small, x1 - x0 - 60);
        if (!words.empty()) {
            const bool agrees = formula->bytes == e.sent_bytes && s.finished;
            p_.text(words, {x1, y}, Face::mono_small, agrees ? Token::ok : Token::mute, Align::right, id);
            x1 -= p_.width(words, Face::mono_small) + 10;
            if (agrees) {
                p_.tick({x1 - 5, y + line / 2}, 11, Token::ok, 2);
                x1 -= 20;
            }
            x1 -= 6;
        }
    }
    if (x1 - x0 > 60 && e.sent_bytes > 0) {
        const float w = std::min(360.F, x1 - x0),
                    part = static_cast<float>(s.buffers[m].sent_bytes) / static_cast<float>(e.sent_bytes);
        p_.rect({x0, y + line / 2 - 5, w, 10}, Token::inset, 5, id).stroke = Token::line;
        if (part > 0) p_.rect({x0, y + line / 2 - 5, w * std::min(1.F, part), 10}, Token::accent, 5, id);
        for (int32_t k = 1; k < s.rounds && s.rounds <= 32; ++k)
            p_.line({x0 + w * static_cast<float>(k) / static_cast<float>(s.rounds), y + line / 2 - 5},
                    {x0 + w * static_cast<float>(k) / static_cast<float>(s.rounds), y + line / 2 + 5},
                    Token::bg);
    }
    return y - 8;
}

std::vector<int32_t> CollectivePicture::absent_ranks() const {
    // Of a group of all ranks only two take part in a send.
    if (is_point_to_point(event().op)) return {};
    std::vector<int32_t> out;
    const auto& there = instances_[own_].ranks;
    for (const int32_t rank : group(own_).ranks)
        if (std::find(there.begin(), there.end(), rank) == there.end()) out.push_back(rank);
    return out;
}

float CollectivePicture::absent(float bottom) {
    const std::vector<int32_t> ranks = absent_ranks();
    if (ranks.empty()) return bottom;
    const std::vector<MessageArg> args{arg("ranks", std::vector<int64_t>(ranks.begin(), ranks.end()))};
    const std::string full = p_.say("view.collective.absent", args);
    tell_.push_back(full);
    if (has_places()) return bottom;
    const float line = p_.line_height(Face::body), size = std::max(26.F, line), y = bottom - size;
    const float right = in_.size.width - kPad;
    p_.layer = kWords;
    const std::string words =
        p_.fit({p_.say("view.collective.absent.short"), full}, Face::caption, (right - kPad) * 0.6F);
    float x = kPad + 4;
    if (!words.empty()) {
        p_.text(words, {x, y + (size - p_.line_height(Face::caption)) / 2}, Face::caption, Token::warn);
        x += p_.width(words, Face::caption) + 12;
    }
    for (std::size_t i = 0; i < ranks.size(); ++i) {
        const std::string name = "rank " + std::to_string(ranks[i]);
        const float w = p_.width(name, Face::body) + 20;
        const std::string rest = "+" + std::to_string(ranks.size() - i);
        const bool last = i + 1 == ranks.size();
        if (x + w + (last ? 0 : 8 + p_.width(rest, Face::caption)) > right) {
            if (x + p_.width(rest, Face::caption) <= right)
                p_.text(rest, {x, y + (size - p_.line_height(Face::caption)) / 2}, Face::caption,
                        Token::warn);
            break;
        }
        const Id id{"rank", ranks[i]};
        p_.layer = kCards;
        auto& box = p_.rect({x, y, w, size}, Token::ghost, 8, id);
        box.stroke = in_.selection.rank == ranks[i] ? Token::sel : Token::line2;
        box.stroke_style = Stroke::dashed;
        p_.layer = kCells;
        p_.label({x, y, w, size}, name, Face::body, Token::soft, Token::none, id);
        x += w + 8;
    }
    return y - 10;
}

void CollectivePicture::tell() {
    for (auto& line : tell_) p_.tell(std::move(line));
    for (std::size_t i = 0; i < states_.size(); ++i) {
        const auto& s = *states_[i];
        const std::vector<int64_t> ranks(s.ranks.begin(), s.ranks.end());
        p_.tell(group(i).mesh_dim + " " + format_ranks(ranks));
        for (std::size_t m = 0; m < s.ranks.size(); ++m) {
            std::string parts;
            for (const auto& piece : s.buffers[m].pieces)
                parts += (parts.empty() ? "" : ", ") +
                         ("chunk " + std::to_string(piece.chunk) + " [" + format_count(piece.elements) +
                          "]: " + std::to_string(piece.from_count) + "/" +
                          (moves_origins(s.op) ? "1" : std::to_string(s.ranks.size())));
            p_.tell("  rank " + std::to_string(s.ranks[m]) + "  " + parts);
        }
        for (const auto& h : s.hops)
            if (h.flying)
                p_.tell("  rank " + std::to_string(h.hop.src) + " → rank " + std::to_string(h.hop.dst) +
                        "  chunk " + std::to_string(h.hop.chunk) + "  " + format_exact_bytes(h.hop.bytes));
    }
}

Picture collective_view(const Input& input, const CollectiveOptions& options) {
    const auto shown = shown_collective(input);
    if (!shown) {
        Painter p(input);
        p.paragraph(p.say(no_collective(input.trace)), {20, 16}, Face::body, Token::mute,
                    input.size.width - 40);
        return p.take();
    }
    return CollectivePicture(input, options, *shown).draw();
}

}  // namespace meshscope::view
