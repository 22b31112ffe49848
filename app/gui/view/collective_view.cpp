#include "app/gui/view/collective_view.h"

#include <algorithm>
#include <cmath>

#include "app/gui/view/collective_cells.h"
#include "app/gui/view/collective_place.h"
#include "app/gui/view/collective_state.h"
#include "app/gui/view/common.h"
#include "app/gui/view/format.h"
#include "app/gui/view/mesh_layout.h"
#include "app/gui/view/stepping.h"

namespace meshscope::view {
namespace {

constexpr float kPad = 20;

enum : int { kNodes, kHulls, kIdle, kCards, kCells, kFlights, kCapsules, kWords, kSelected };

class Collective {
  public:
    Collective(const Input& input, const CollectiveOptions& options, const ShownCollective& shown)
        : in_(input), options_(options), p_(input), shown_(shown) {
        instances_ = parallel_instances(input.trace, shown.rank, shown.event);
        for (const auto& instance : instances_)
            states_.push_back(collective_state(input.trace, input.clock, instance, input.cursor.t_ns));
        for (std::size_t i = 0; i < instances_.size(); ++i)
            for (std::size_t m = 0; m < instances_[i].ranks.size(); ++m)
                if (instances_[i].ranks[m] == shown.rank && instances_[i].events[m] == shown.event) own_ = i;
    }

    Picture draw() {
        const float top = header();
        float bottom = footer();
        // The row of all hops comes last: only where the ranks keep room for their cards.
        const float h = std::clamp(in_.size.height * 0.28F, 120.F, 250.F);
        const bool pairs = own().ranks.size() <= 2;
        const float need =
            pairs ? 130.F * static_cast<float>(std::min<std::size_t>(states_.size(), 4)) : 250.F;
        if (options_.overview && bottom - top - h - 12 >= need) {
            if (draw_overview(p_, in_.trace, instances_[own_], own(),
                              {kPad, bottom - h, in_.size.width - 2 * kPad, h}))
                bottom -= h + 12;
        }
        groups({kPad, top, in_.size.width - 2 * kPad, bottom - top});
        tell();
        return p_.take();
    }

  private:
    const CollectiveState& own() const { return states_[own_]; }
    const trace::Event& event() const { return in_.trace.event(shown_.rank, shown_.event); }
    const trace::Group& group(std::size_t i) const {
        return in_.trace.groups[static_cast<std::size_t>(instances_[i].group)];
    }

    // ---------------------------------------------------------------- title

    float header() {
        p_.layer = kWords;
        const auto& s = own();
        const auto& e = event();
        const std::string op(name(e.op)), phase = p_.say("view.phase." + std::string(name(e.phase)));
        const std::string unit(in_.trace.text(e.unit));
        const std::string where =
            unit.empty() ? phase : p_.say("view.collective.where", {arg("unit", unit), arg("phase", phase)});
        const std::vector<MessageArg> args{
            arg("where", where), arg("hop", int64_t{std::min(s.round + 1, s.rounds)}), arg("hops", s.rounds)};
        const char* state = s.rounds == 0                       ? "alone"
                            : !s.begun                          ? "coming"
                            : s.finished || s.round >= s.rounds ? "done"
                                                                : "hop";
        const std::string full = p_.say(std::string("view.collective.") + state, args);
        const std::string brief = p_.say(std::string("view.collective.") + state + ".short", args);
        tell_.push_back(op + "  " + full);
        const float y = 10, x = kPad + 4;
        p_.text(op, {x, y}, Face::mono_title, op_hue(e.op), Align::left, {"title"});
        const float after = x + p_.width(op, Face::mono_title) + 14;
        const std::string words = p_.fit({full, brief}, Face::body, in_.size.width - kPad - after);
        const float body_y = y + (p_.line_height(Face::mono_title) - p_.line_height(Face::body)) / 2;
        if (!words.empty()) p_.text(words, {after, body_y}, Face::body, Token::text, Align::left, {"title"});
        const float end = after + p_.width(words, Face::body) + 24;
        float bottom = y + p_.line_height(Face::mono_title) + 6;
        legend(end, body_y, bottom);
        return bottom;
    }

    // What the hues and marks mean: beside the title when it fits there, else on a line of its own.
    void legend(float left, float y, float& bottom) {
        const auto& s = own();
        struct Entry {
            std::string words;
            int64_t origin;  // -1 padding, -2 complete
        };
        std::vector<Entry> entries;
        const bool several = states_.size() > 1;
        for (std::size_t m = 0; m < s.ranks.size() && m < 8; ++m) {
            const std::string who = several ? group(own_).mesh_dim + " = " + std::to_string(m)
                                            : "rank " + std::to_string(s.ranks[m]);
            entries.push_back({who, static_cast<int64_t>(m)});
        }
        if (s.ranks.size() > 8) entries.clear();
        bool padded = false;
        for (const auto& b : s.buffers)
            for (const auto& piece : b.pieces) padded = padded || piece.padding > 0;
        if (padded) entries.push_back({p_.say("view.collective.padding"), -1});
        if (!moves_origins(s.op))
            entries.push_back(
                {p_.say("view.collective.complete", {arg("ranks", static_cast<int64_t>(s.ranks.size()))}),
                 -2});
        float total = 0;
        for (const auto& e : entries) total += 20 + p_.width(e.words, Face::caption) + 18;
        total -= 18;
        const float line = p_.line_height(Face::caption);
        float x = in_.size.width - kPad - total;
        if (entries.empty()) return;
        if (x < left) {
            x = kPad + 4;
            if (in_.size.height < 300 || total > in_.size.width - 2 * kPad - 8) return;
            y = bottom;
            bottom += line + 6;
        }
        for (const auto& e : entries) {
            const Point c{x + 6, y + line / 2 + 1};
            if (e.origin >= 0)
                p_.symbol(c, 5.5F, e.origin);
            else {
                auto& box = p_.rect({c.x - 6, c.y - 6, 12, 12}, e.origin == -1 ? Token::inset : Token::ok, 3);
                if (e.origin == -1) {
                    box.pattern = Fill::hatch;
                    box.hatch = box.stroke = Token::line2;
                    box.stroke_style = Stroke::dashed;
                } else {
                    box.fill_alpha = 0.42F;
                }
            }
            p_.text(e.words, {x + 20, y}, Face::caption, Token::soft);
            x += 20 + p_.width(e.words, Face::caption) + 18;
        }
    }

    // ----------------------------------------------------------- bytes so far

    float footer() {
        const auto& s = own();
        const float line = p_.line_height(Face::mono_small), y = in_.size.height - line - 10;
        std::size_t m = 0;
        for (std::size_t i = 0; i < s.ranks.size(); ++i)
            if (s.ranks[i] == shown_.rank) m = i;
        const auto& e = in_.trace.event(s.buffers[m].rank, s.buffers[m].event);
        if (s.rounds == 0) return in_.size.height - 12;
        const auto formula = byte_formula(in_.trace, e);
        const std::vector<MessageArg> args{arg("rank", s.buffers[m].rank),
                                           arg("sent", format_count(s.buffers[m].sent_bytes)),
                                           arg("all", format_exact_bytes(e.sent_bytes))};
        const std::string full = p_.say("view.collective.sent", args),
                          brief = p_.say("view.collective.sent.short", args);
        tell_.push_back(full +
                        (formula ? "  " + formula->text + " = " + format_exact_bytes(formula->bytes) : ""));
        p_.layer = kWords;
        const Id id{"bytes"};
        const std::string left = p_.fit({full, brief}, Face::caption, in_.size.width - 2 * kPad);
        p_.text(left, {kPad + 4, y}, Face::caption, Token::soft, Align::left, id);
        float x0 = kPad + 4 + p_.width(left, Face::caption) + 16, x1 = in_.size.width - kPad - 4;
        if (formula) {
            const std::string words = p_.fit({formula->text + " = " + format_exact_bytes(formula->bytes),
                                              format_exact_bytes(formula->bytes)},
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

    // --------------------------------------------------------------- groups

    // All groups that make this call, in a grid; where they do not fit, the shown one and a note.
    void groups(Rect area) {
        auto count = states_.size();
        const bool pairs = own().ranks.size() <= 2;
        const float least_w = pairs ? 330.F : 300.F, least_h = pairs ? 76.F : 190.F;
        std::size_t columns = 1, rows = count;
        float best = 0;
        for (std::size_t c = 1; c <= count; ++c) {
            const std::size_t r = (count + c - 1) / c;
            const float w = area.w / static_cast<float>(c), h = area.h / static_cast<float>(r);
            if (w < least_w || h < least_h) continue;
            const float fit = std::min(w / (pairs ? 4.2F : 1.7F), h);
            if (fit > best) {
                best = fit;
                columns = c;
                rows = r;
            }
        }
        std::vector<std::size_t> shown;
        if (best > 0)
            for (std::size_t i = 0; i < count; ++i) shown.push_back(i);
        else {
            shown = {own_};
            columns = rows = 1;
            if (count > 1) {
                p_.layer = kWords;
                const float line = p_.line_height(Face::caption);
                const std::string note = p_.fit(
                    {p_.say("view.collective.others", {arg("groups", static_cast<int64_t>(count - 1))})},
                    Face::caption, area.w - 8);
                if (!note.empty())
                    p_.text(note, {kPad + 4, area.y + area.h - line}, Face::caption, Token::mute);
                area.h -= line + 6;
            }
        }
        float label = 0;
        for (const auto i : shown) label = std::max(label, label_width(i));
        const bool side = columns == 1 && shown.size() > 1 && label > 0 && area.w - label - 20 > least_w + 60;
        const bool heads = pairs && columns == 1 && shown.size() > 1;
        const float line = p_.line_height(Face::caption);
        if (heads) {
            area.y += line + 2;
            area.h -= line + 2;
        }
        const Rect grid{area.x + (side ? label + 16 : 0), area.y, area.w - (side ? label + 16 : 0), area.h};
        for (std::size_t k = 0; k < shown.size(); ++k) {
            const Rect cell{grid.x + grid.w * static_cast<float>(k % columns) / static_cast<float>(columns),
                            grid.y + grid.h * static_cast<float>(k / columns) / static_cast<float>(rows),
                            grid.w / static_cast<float>(columns), grid.h / static_cast<float>(rows)};
            one_group(shown[k], {cell.x + 4, cell.y + 5, cell.w - 8, cell.h - 10}, side ? area.x : -1);
        }
        if (heads && !places_.empty()) column_heads(area.y - line - 2);
        idle_links(columns);
    }

    // "node 0" and where the group stands in the other mesh dims.
    std::vector<std::pair<std::string, Token>> labels_of(std::size_t i) const {
        std::vector<std::pair<std::string, Token>> out;
        if (const int32_t node = node_of(i); node >= 0)
            out.emplace_back("node " + std::to_string(node), Token::mute);
        const auto& info = in_.trace.info;
        const auto at = std::find(info.mesh_ranks.begin(), info.mesh_ranks.end(), instances_[i].ranks[0]);
        if (at == info.mesh_ranks.end() || states_.size() < 2) return out;
        const auto where = mesh_coordinate(info.mesh_shape, at - info.mesh_ranks.begin());
        for (std::size_t d = 0; d < info.mesh_names.size() && d < where.size(); ++d)
            if (info.mesh_names[d] != group(i).mesh_dim && info.mesh_shape[d] > 1)
                out.emplace_back(info.mesh_names[d] + " = " + std::to_string(where[d]),
                                 dim_hue(info.mesh_names[d], d));
        return out;
    }
    float label_width(std::size_t i) const {
        float w = 0;
        for (const auto& [words, colour] : labels_of(i)) w = std::max(w, p_.width(words, Face::caption));
        return w;
    }
    int32_t node_of(std::size_t i) const {
        const auto& nodes = in_.trace.info.node_of_rank;
        int32_t node = -1;
        for (const int32_t r : instances_[i].ranks) {
            if (static_cast<std::size_t>(r) >= nodes.size()) return -1;
            if (node >= 0 && nodes[static_cast<std::size_t>(r)] != node) return -1;
            node = nodes[static_cast<std::size_t>(r)];
        }
        return node;
    }
    std::size_t dim_position(std::size_t i) const {
        const auto& names = in_.trace.info.mesh_names;
        return static_cast<std::size_t>(std::find(names.begin(), names.end(), group(i).mesh_dim) -
                                        names.begin());
    }

    void one_group(std::size_t i, Rect cell, float label_x) {
        const auto& s = states_[i];
        const bool tight = cell.h < 130;
        const Token hue = dim_hue(group(i).mesh_dim, dim_position(i));
        if (node_of(i) >= 0) {
            p_.layer = kNodes;
            p_.rect(cell, Token::panel, 16, {"node", node_of(i)}).stroke = Token::line;
        }
        const float inset = tight ? 5.F : 9.F;
        Rect ring{cell.x + inset, cell.y + inset, cell.w - 2 * inset, cell.h - 2 * inset};
        const bool picked = in_.selection.group && *in_.selection.group == instances_[i].group;
        p_.layer = kHulls;
        auto& hull = p_.rect(ring, hue, 22, {"group", instances_[i].group});
        hull.fill_alpha = 0.05F;
        hull.stroke = picked ? Token::sel : hue;
        hull.width = 2;
        const auto labels = labels_of(i);
        const float line = p_.line_height(Face::caption);
        p_.layer = kWords;
        if (label_x >= 0) {
            // Beside the group: the node at its top, the coordinates in the middle.
            float right = cell.x - 12, y = cell.y + 2;
            for (std::size_t k = 0; k < labels.size(); ++k) {
                if (k == 1 || (k == 0 && node_of(i) < 0)) y = std::max(y, cell.y + cell.h / 2 - line / 2);
                p_.try_text(labels[k].first, {right, y}, Face::caption, labels[k].second, Align::right);
                y += line;
            }
        } else if (!labels.empty() && ring.h > 3 * line + 60) {
            float x = ring.x + 18;
            for (const auto& [words, colour] : labels) {
                if (x + p_.width(words, Face::caption) > ring.x + ring.w - 18) break;
                p_.try_text(words, {x, ring.y + 4}, Face::caption, colour);
                x += p_.width(words, Face::caption) + 14;
            }
            ring.y += line;
            ring.h -= line;
        }
        const float pad = tight ? 6.F : 14.F;
        auto place = place_group(s, {ring.x + pad, ring.y + pad, ring.w - 2 * pad, ring.h - 2 * pad});
        idle_ring(s, place, hue);
        for (std::size_t m = 0; m < s.ranks.size(); ++m)
            if (place.cards)
                card(s, m, place.members[m]);
            else
                circle(s, m, place);
        flights(s, place);
        places_.emplace_back(i, std::move(place));
    }

    // The links of a ring or a tree that are not busy now, in the dim's hue.
    void idle_ring(const CollectiveState& s, const GroupPlace& place, Token hue) {
        if (s.ranks.size() < 3) return;
        p_.layer = kIdle;
        const auto link = [&](int32_t a, int32_t b) {
            const auto path = hop_path(place, a, b);
            p_.bezier(path.a, path.b, path.c, path.d, hue, 1.4F).stroke_alpha = 0.25F;
        };
        if (s.algorithm == Algorithm::ring)
            for (std::size_t m = 0; m < s.ranks.size(); ++m)
                link(static_cast<int32_t>(m), static_cast<int32_t>((m + 1) % s.ranks.size()));
        std::vector<std::pair<int32_t, int32_t>> drawn;
        if (s.algorithm == Algorithm::tree)
            for (const auto& h : s.hops) {
                const auto pair = std::minmax(h.sender, h.receiver);
                if (std::find(drawn.begin(), drawn.end(), std::pair<int32_t, int32_t>(pair)) != drawn.end())
                    continue;
                drawn.emplace_back(pair);
                link(h.sender, h.receiver);
            }
    }

    void card(const CollectiveState& s, std::size_t m, const Rect& box) {
        const int32_t rank = s.ranks[m];
        const bool chosen = in_.selection.rank && *in_.selection.rank == rank;
        const Id id{"rank", rank};
        p_.layer = kCards;
        auto& back = p_.rect(box, Token::raised, 12, id);
        back.stroke = chosen ? Token::sel : Token::line2;
        back.width = chosen ? 2.F : 1;
        p_.layer = kCells;
        const float pad = box.w > 150 ? 12.F : 7.F, line = p_.line_height(Face::body);
        const bool reduces = !moves_origins(s.op);
        const float marks = reduces ? 11.F : 0.F;
        // Title, buffer, a line of what the cells are; what does not fit is left out from the end.
        const float foot = p_.line_height(Face::mono_small);
        const bool title = box.h >= line + 22 + marks + 6;
        const bool ranges = box.h >= line + 34 + marks + foot + 12 && s.buffers[m].pieces.size() > 1;
        float y = box.y + (title ? 5.F : 6.F);
        const float inner = box.w - 2 * pad;
        if (title) {
            const float mark = inner > 90 && s.ranks.size() > 2 ? 18.F : 0.F;
            if (mark > 0) p_.symbol({box.x + pad + 6, y + line / 2}, 5.5F, static_cast<int64_t>(m));
            const std::string words =
                p_.fit({"rank " + std::to_string(rank), std::to_string(rank)}, Face::body, inner - mark);
            p_.label({box.x + pad + mark, y, inner - mark, line}, words, Face::body, Token::text, Token::none,
                     id, Align::left);
            const std::string where = place_text(rank);
            if (mark + p_.width(words, Face::body) + 10 + p_.width(where, Face::mono_small) <= inner)
                p_.label({box.x + pad, y, inner, line}, where, Face::mono_small, Token::mute, Token::none, {},
                         Align::right);
            y += line + 3;
        }
        const float bottom = box.y + box.h - (ranges ? foot + 5 : 6);
        const Rect row{box.x + pad, y, inner, std::min(bottom - y, 54.F + marks)};
        draw_buffer(p_, s, m, row, reduces);
        if (ranges) range_words(s, m, {row.x, row.y + row.h + 2, row.w, foot});
    }

    // Which elements of the buffer each cell is: "0–54".
    void range_words(const CollectiveState& s, std::size_t m, const Rect& row) {
        const auto& pieces = s.buffers[m].pieces;
        const float each = row.w / static_cast<float>(pieces.size());
        for (std::size_t k = 0; k < pieces.size(); ++k) {
            if (pieces[k].elements <= 0) continue;
            const std::string words = format_count(pieces[k].offset) + "–" +
                                      format_count(pieces[k].offset + pieces[k].elements - 1);
            if (p_.width(words, Face::mono_small) <= each - 6)
                p_.label({row.x + each * static_cast<float>(k), row.y, each, row.h}, words, Face::mono_small,
                         Token::mute);
        }
    }

    std::string place_text(int32_t rank) const {
        const auto& info = in_.trace.info;
        const auto at = std::find(info.mesh_ranks.begin(), info.mesh_ranks.end(), rank);
        if (at == info.mesh_ranks.end() || info.mesh_shape.empty()) return "";
        const auto where = mesh_coordinate(info.mesh_shape, at - info.mesh_ranks.begin());
        std::string out = "(";
        for (std::size_t d = 0; d < where.size(); ++d) out += (d ? "," : "") + std::to_string(where[d]);
        return out + ")";
    }

    // A rank without room for a card: a circle with its number, its buffer as a short row of squares below.
    void circle(const CollectiveState& s, std::size_t m, const GroupPlace& place) {
        const int32_t rank = s.ranks[m];
        const Rect& box = place.members[m];
        const Id id{"rank", rank};
        p_.layer = kCards;
        const bool chosen = in_.selection.rank && *in_.selection.rank == rank;
        auto& c = p_.circle({box.x + box.w / 2, box.y + box.h / 2}, box.w / 2, Token::raised, id);
        c.stroke = chosen ? Token::sel : origin_hue(static_cast<int64_t>(m));
        c.width = chosen ? 2.5F : 1.6F;
        p_.layer = kCells;
        if (const std::string words = p_.fit({std::to_string(rank)}, Face::mono_small, box.w - 4);
            !words.empty() && box.h >= 16)
            p_.label(box, words, Face::mono_small, Token::text, Token::none, id);
        const auto n = s.buffers[m].pieces.size();
        const float each = std::min(7.F, (box.w + 16) / static_cast<float>(std::max<std::size_t>(1, n)));
        if (each < 3 || box.w < 14) return;
        const float w = each * static_cast<float>(n);
        draw_buffer(p_, s, m, {box.x + (box.w - w) / 2, box.y + box.h + 3, w, 9}, false);
    }

    void flights(const CollectiveState& s, const GroupPlace& place) {
        std::size_t busy = 0;
        for (const auto& h : s.hops) busy += h.hop.round == s.round ? 1 : 0;
        const bool small = !place.cards || busy > s.ranks.size() * 2;
        p_.layer = kFlights;
        for (const auto& h : s.hops) {
            if (h.landed || (!h.flying && h.hop.round != s.round)) continue;
            if (busy > 4096) break;
            draw_flight(p_, s, h, hop_path(place, h.sender, h.receiver), small, options_.reduced_motion);
        }
    }

    // "shard = 0" over the two columns of facing pairs.
    void column_heads(float y) {
        p_.layer = kWords;
        const auto& place = places_.front().second;
        const auto& dim = group(own_).mesh_dim;
        for (std::size_t m = 0; m < place.members.size(); ++m) {
            const auto& box = place.members[m];
            p_.try_text(dim + " = " + std::to_string(m), {box.x + box.w / 2, y}, Face::caption,
                        dim_hue(dim, dim_position(own_)), Align::centre);
        }
    }

    // The groups of another dim that join ranks above each other: idle now, so only their pattern.
    void idle_links(std::size_t columns) {
        if (columns != 1 || places_.size() < 2 || !places_[0].second.cards) return;
        p_.layer = kNodes + 0;
        for (std::size_t k = 0; k + 1 < places_.size(); ++k)
            for (std::size_t m = 0; m < places_[k].second.members.size(); ++m) {
                const int32_t a = states_[places_[k].first].ranks[m],
                              b = states_[places_[k + 1].first].ranks[m];
                for (const auto& g : in_.trace.groups) {
                    const bool both = std::count(g.ranks.begin(), g.ranks.end(), a) > 0 &&
                                      std::count(g.ranks.begin(), g.ranks.end(), b) > 0;
                    if (!both || g.mesh_dim == "world" || g.mesh_dim == group(own_).mesh_dim) continue;
                    const auto& names = in_.trace.info.mesh_names;
                    const auto at = static_cast<std::size_t>(
                        std::find(names.begin(), names.end(), g.mesh_dim) - names.begin());
                    const Rect &from = places_[k].second.members[m], &to = places_[k + 1].second.members[m];
                    const float x = from.x + from.w / 2;
                    p_.layer = kIdle;
                    auto& line =
                        p_.line({x, from.y + from.h + 3}, {x, to.y - 3}, dim_hue(g.mesh_dim, at), 1.4F);
                    line.stroke_style = dim_stroke(g.mesh_dim, at);
                    line.stroke_alpha = 0.45F;
                    break;
                }
            }
    }

    void tell() {
        for (auto& line : tell_) p_.tell(std::move(line));
        for (std::size_t i = 0; i < states_.size(); ++i) {
            const auto& s = states_[i];
            const std::vector<int64_t> ranks(s.ranks.begin(), s.ranks.end());
            p_.tell(group(i).mesh_dim + " " + format_list(ranks));
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
                            "  chunk " + std::to_string(h.hop.chunk) + "  " +
                            format_exact_bytes(h.hop.bytes));
        }
    }

    const Input& in_;
    const CollectiveOptions& options_;
    Painter p_;
    ShownCollective shown_;
    std::vector<trace::CollectiveInstance> instances_;
    std::vector<CollectiveState> states_;
    std::size_t own_ = 0;
    std::vector<std::pair<std::size_t, GroupPlace>> places_;
    std::vector<std::string> tell_;
};

}  // namespace

std::optional<ShownCollective> shown_collective(const Input& input) {
    if (const auto* e = selected_event(input); e && e->kind == trace::EventKind::collective)
        return ShownCollective{*input.selection.event_rank, e->id};
    if (input.trace.ranks.empty()) return std::nullopt;
    const int32_t rank = focus_rank(input);
    const auto r = static_cast<std::size_t>(rank);
    const auto& events = input.trace.ranks[r].events;
    const auto& times = input.clock.events[r];
    std::optional<std::size_t> running, coming, ended;
    for (std::size_t e = 0; e < events.size() && e < times.size(); ++e) {
        if (events[e].kind != trace::EventKind::collective) continue;
        const auto& t = times[e];
        if (t.begin_ns <= input.cursor.t_ns && input.cursor.t_ns < t.end_ns) {
            if (!running || t.begin_ns >= times[*running].begin_ns) running = e;
        } else if (t.begin_ns > input.cursor.t_ns) {
            if (!coming || t.begin_ns < times[*coming].begin_ns) coming = e;
        } else if (!ended || t.end_ns >= times[*ended].end_ns) {
            ended = e;
        }
    }
    const auto found = running ? running : coming ? coming : ended;
    if (!found) return std::nullopt;
    return ShownCollective{rank, events[*found].id};
}

Picture collective_view(const Input& input, const CollectiveOptions& options) {
    const auto shown = shown_collective(input);
    if (!shown) {
        Painter p(input);
        p.paragraph(p.say("view.collective.none"), {kPad, 16}, Face::body, Token::mute,
                    input.size.width - 2 * kPad);
        return p.take();
    }
    return Collective(input, options, *shown).draw();
}

}  // namespace meshscope::view
