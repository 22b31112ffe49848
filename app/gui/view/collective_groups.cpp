#include "app/gui/view/collective_picture.h"

#include <algorithm>
#include <cmath>

#include "app/gui/view/collective_cells.h"
#include "app/gui/view/common.h"
#include "app/gui/view/format.h"
#include "app/gui/view/mesh_layout.h"
#include "app/gui/view/stepping.h"

namespace meshscope::view {

void CollectivePicture::groups(Rect area) {
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
            const std::string note =
                p_.fit({p_.say("view.collective.others", {arg("groups", static_cast<int64_t>(count - 1))})},
                       Face::caption, area.w - 8);
            if (!note.empty()) p_.text(note, {kPad + 4, area.y + area.h - line}, Face::caption, Token::mute);
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
    nodes(area, columns == 1);
    if (heads && !places_.empty()) column_heads(area.y - line - 2);
    idle_links(columns);
}

std::vector<std::pair<std::string, Token>> CollectivePicture::labels_of(std::size_t i) const {
    std::vector<std::pair<std::string, Token>> out;
    if (const int32_t node = node_of(i); node >= 0)
        out.emplace_back(p_.say("view.node", {arg("node", node)}), Token::mute);
    const auto& info = in_.trace.info;
    const auto at = std::find(info.mesh_ranks.begin(), info.mesh_ranks.end(), instances_[i].ranks[0]);
    if (at == info.mesh_ranks.end() || states_.size() < 2) return out;
    const auto where = mesh_coordinate(info.mesh_shape, at - info.mesh_ranks.begin());
    // A flattened group (shard_cp) varies in more dims than one: only what all its members share is said.
    const auto shared = [&](std::size_t d) {
        return std::all_of(instances_[i].ranks.begin(), instances_[i].ranks.end(), [&](int32_t r) {
            const auto found = std::find(info.mesh_ranks.begin(), info.mesh_ranks.end(), r);
            return found == info.mesh_ranks.end() ||
                   mesh_coordinate(info.mesh_shape, found - info.mesh_ranks.begin())[d] == where[d];
        });
    };
    for (std::size_t d = 0; d < info.mesh_names.size() && d < where.size(); ++d)
        if (info.mesh_names[d] != group(i).mesh_dim && info.mesh_shape[d] > 1 && shared(d))
            out.emplace_back(info.mesh_names[d] + " = " + std::to_string(where[d]),
                             dim_hue(info.mesh_names[d], d));
    return out;
}

float CollectivePicture::label_width(std::size_t i) const {
    float w = 0;
    for (const auto& [words, colour] : labels_of(i)) w = std::max(w, p_.width(words, Face::caption));
    return w;
}

int32_t CollectivePicture::node_of(std::size_t i) const {
    const auto& nodes = in_.trace.info.node_of_rank;
    int32_t node = -1;
    for (const int32_t r : instances_[i].ranks) {
        if (static_cast<std::size_t>(r) >= nodes.size()) return -1;
        if (node >= 0 && nodes[static_cast<std::size_t>(r)] != node) return -1;
        node = nodes[static_cast<std::size_t>(r)];
    }
    return node;
}

std::size_t CollectivePicture::dim_position(std::size_t i) const {
    const auto& names = in_.trace.info.mesh_names;
    return static_cast<std::size_t>(std::find(names.begin(), names.end(), group(i).mesh_dim) - names.begin());
}

void CollectivePicture::one_group(std::size_t i, Rect cell, float label_x) {
    const auto& s = *states_[i];
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
    hulls_.push_back(ring);
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
    const Rect room{ring.x + pad, ring.y + pad, ring.w - 2 * pad, ring.h - 2 * pad};
    auto place = i == own_ && has_places() ? with_absent(s, room) : lay_out_group(s, room);
    idle_ring(s, place, hue);
    for (std::size_t m = 0; m < s.ranks.size(); ++m)
        if (place.cards)
            card(s, m, place.members[m]);
        else
            circle(s, m, place);
    flights(s, place);
    places_.emplace_back(i, std::move(place));
}

void CollectivePicture::idle_ring(const CollectiveState& s, const GroupLayout& place, Token hue) {
    if (s.ranks.size() < 3) return;
    p_.layer = kIdle;
    const auto link = [&](int32_t a, int32_t b, bool one_way) {
        const auto path = hop_path(place, a, b);
        auto& way = p_.bezier(path.a, path.b, path.c, path.d, hue, 1.4F);
        way.stroke_alpha = one_way ? 0.4F : 0.25F;
        way.arrow = one_way;
    };
    const bool one_way = s.algorithm == Algorithm::tree || s.algorithm == Algorithm::ring_pipeline;
    if (s.algorithm == Algorithm::ring)
        for (std::size_t m = 0; m < s.ranks.size(); ++m)
            link(static_cast<int32_t>(m), static_cast<int32_t>((m + 1) % s.ranks.size()), true);
    std::vector<std::pair<int32_t, int32_t>> drawn;
    // Of a tree the half that is under way: sums go up by another one than what is sent down again.
    const bool up = std::ranges::any_of(
        s.hops, [&](const HopState& h) { return h.hop.reduces && h.hop.round >= s.round; });
    // Others than the ring show the pairs that really speak with each other, where those tell the algorithm.
    if (s.algorithm == Algorithm::tree || s.algorithm == Algorithm::double_tree ||
        s.algorithm == Algorithm::two_level || s.algorithm == Algorithm::ring_pipeline)
        for (const auto& h : s.hops) {
            if (s.algorithm == Algorithm::tree && h.hop.reduces != up) continue;
            const auto pair = std::minmax(h.sender, h.receiver);
            if (std::find(drawn.begin(), drawn.end(), std::pair<int32_t, int32_t>(pair)) != drawn.end())
                continue;
            drawn.emplace_back(pair);
            link(h.sender, h.receiver, one_way);
        }
}

void CollectivePicture::card(const CollectiveState& s, std::size_t m, const Rect& box) {
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
    const float inner = box.w - 2 * pad;
    const std::string ended = box.h >= line + 34 + marks + foot + 12 ? end_words(s, m, inner) : "";
    const bool ranges =
        box.h >= line + 34 + marks + foot + 12 && s.buffers[m].pieces.size() > 1 && ended.empty();
    float y = box.y + (title ? 5.F : 6.F);
    if (title) {
        const float mark = inner > 90 && s.ranks.size() > 2 ? 18.F : 0.F;
        if (mark > 0) p_.symbol({box.x + pad + 6, y + line / 2}, 5.5F, static_cast<int64_t>(m));
        const std::string words =
            p_.fit({"rank " + std::to_string(rank), std::to_string(rank)}, Face::body, inner - mark);
        p_.label({box.x + pad + mark, y, inner - mark, line}, words, Face::body, Token::text, Token::none, id,
                 Align::left);
        const std::string where = mesh_place(in_.trace, rank);
        if (mark + p_.width(words, Face::body) + 10 + p_.width(where, Face::mono_small) <= inner)
            p_.label({box.x + pad, y, inner, line}, where, Face::mono_small, Token::mute, Token::none, {},
                     Align::right);
        y += line + 3;
    }
    // No room for a line above: mark and number stand before the buffer.
    float before = 0;
    if (!title) {
        const std::string words = std::to_string(rank);
        const float mark = s.ranks.size() > 2 ? 18.F : 0.F, w = p_.width(words, Face::body);
        if (mark > 0) p_.symbol({box.x + pad + 6, box.y + box.h / 2}, 5.5F, static_cast<int64_t>(m));
        p_.label({box.x + pad + mark, box.y, w, box.h}, words, Face::body, Token::text, Token::none, id,
                 Align::left);
        before = mark + w + 8;
    }
    const float bottom = box.y + box.h - (ranges || !ended.empty() ? foot + 5 : 6);
    const Rect row{box.x + pad + before, y, inner - before, std::min(bottom - y, 54.F + marks)};
    draw_buffer(p_, s, m, row, reduces);
    if (ranges) range_words(s, m, {row.x, row.y + row.h + 2, row.w, foot});
    card_end(s, m, box, ended, {row.x, row.y + row.h + 2, row.w, foot});
}

void CollectivePicture::range_words(const CollectiveState& s, std::size_t m, const Rect& row) {
    const auto& pieces = s.buffers[m].pieces;
    const float each = row.w / static_cast<float>(pieces.size());
    for (std::size_t k = 0; k < pieces.size(); ++k) {
        if (pieces[k].elements <= 0) continue;
        const std::string words =
            format_count(pieces[k].offset) + "–" + format_count(pieces[k].offset + pieces[k].elements - 1);
        if (p_.width(words, Face::mono_small) <= each - 6)
            p_.label({row.x + each * static_cast<float>(k), row.y, each, row.h}, words, Face::mono_small,
                     Token::mute);
    }
}

void CollectivePicture::circle(const CollectiveState& s, std::size_t m, const GroupLayout& place) {
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
    if (place.buffers.empty()) return;
    Rect row = place.buffers[m];
    const auto n = static_cast<float>(std::max<std::size_t>(1, s.buffers[m].pieces.size()));
    // Cells too small for a figure are small squares; they begin where the circle is.
    const float each = std::min(row.w / n, row.w / n < 20 ? 9.F : 70.F);
    if (each < 3) return;
    const float w = each * n, middle = box.x + box.w / 2;
    row.x = row.x > middle ? row.x : row.x + row.w < middle ? row.x + row.w - w : row.x + (row.w - w) / 2;
    row.w = w;
    const bool marks = row.h >= 30 && each >= 20;
    if (each < 12) row = {row.x, row.y + (row.h - std::min(row.h, 9.F)) / 2, row.w, std::min(row.h, 9.F)};
    draw_buffer(p_, s, m, row, marks);
}

void CollectivePicture::flights(const CollectiveState& s, const GroupLayout& place) {
    std::size_t busy = 0;
    for (const auto& h : s.hops) busy += h.hop.round == s.round ? 1 : 0;
    const bool small = !place.cards || place.tight || busy > s.ranks.size() * 2;
    p_.layer = kFlights;
    for (const auto& h : s.hops) {
        if (h.landed || (!h.flying && h.hop.round != s.round)) continue;
        if (busy > 4096) break;
        draw_flight(p_, s, h, hop_path(place, h.sender, h.receiver), small, options_.reduced_motion);
    }
}

}  // namespace meshscope::view
