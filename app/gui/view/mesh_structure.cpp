#include "app/gui/view/mesh_picture.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "app/gui/view/common.h"
#include "app/gui/view/format.h"

namespace meshscope::view {
namespace {

constexpr float kSheetEdge = 12;  // from a card to the edge of its sheet

}  // namespace

void MeshPicture::nodes() {
    if (q_.node_of_rank.empty()) return;
    std::map<int32_t, std::vector<int64_t>> members;
    for (int64_t i = 0; i < count_; ++i) {
        const auto rank = static_cast<std::size_t>(q_.ranks[static_cast<std::size_t>(i)]);
        if (rank < q_.node_of_rank.size()) members[q_.node_of_rank[rank]].push_back(i);
    }
    if (members.size() < 2) return;
    const float margin = detail_ == Detail::card ? 9.F : std::min(14.F, at_.pitch() * 0.14F);
    for (const auto& [node, ranks] : members) {
        const auto parts = parts_of(ranks, margin);
        if (q_.sliced && parts.size() > 1) continue;
        for (std::size_t k = 0; k < parts.size(); ++k) {
            // A slice's sheets are boxes already: then the machine has its name alone.
            if (!q_.sliced) {
                const auto outline = round_of(parts[k], margin);
                p_.layer = kNodes;
                auto& shape = p_.polygon(outline, Token::panel, {"node", node});
                shape.stroke = parts.size() > 1 ? Token::line2 : Token::line;
                if (parts.size() > 1) shape.stroke_style = Stroke::dashed;
                keep_off(outline, true);
            }
            Rect all = body(parts[k][0]);
            for (const int64_t i : parts[k]) all = join(all, body(i));
            machines_.push_back(
                {node, all, margin, static_cast<int64_t>(k), static_cast<int64_t>(parts.size())});
        }
    }
}

std::vector<std::vector<int64_t>> MeshPicture::parts_of(const std::vector<int64_t>& ranks,
                                                        float margin) const {
    if (alone(round_of(ranks, margin), ranks)) return {ranks};
    std::vector<std::vector<int64_t>> parts;
    for (const int64_t i : ranks) {
        if (!parts.empty()) {
            parts.back().push_back(i);
            if (alone(round_of(parts.back(), margin), ranks)) continue;
            parts.back().pop_back();
        }
        parts.push_back({i});
    }
    return parts;
}

void MeshPicture::node_names() {
    // Of more parts than anyone reads the names of, the machine that the asking rank stands on is named.
    constexpr std::size_t kMostNamed = 64;
    const int64_t asking = q_.index_of(q_.asking);
    const auto asks = [&](const Machine& machine) {
        if (asking < 0) return false;
        const Point at = pos(asking);
        const Rect& all = machine.ranks;
        return at.x >= all.x && at.x <= all.x + all.w && at.y >= all.y && at.y <= all.y + all.h;
    };
    p_.layer = kWords;
    for (const Machine& machine : machines_) {
        if (machines_.size() > kMostNamed && !asks(machine)) continue;
        std::vector<std::string> choices{p_.say("view.node", {arg("node", machine.node)})};
        if (machine.parts > 1)
            choices.insert(choices.begin(),
                           p_.say("view.node.part", {arg("node", machine.node), arg("part", machine.part + 1),
                                                     arg("parts", machine.parts)}));
        const Id id{"node", machine.node};
        for (const std::string& words : choices)
            if (node_name(machine, words, id)) break;
    }
}

bool MeshPicture::node_name(const Machine& machine, const std::string& words, const Id& id) {
    const float line = p_.line_height(Face::caption);
    const Rect& all = machine.ranks;
    const float edge = std::max(machine.margin, q_.sliced ? kSheetEdge + 2 : 0.F);
    const float w = p_.width(words, Face::caption);
    const float lead = line * 0.2F;  // above the letters, and below them
    const Point places[] = {{all.x - machine.margin, all.y - edge - line},
                            {all.x - machine.margin, all.y + all.h + edge},
                            {all.x + all.w + edge_of(at_.pitch_x) + 8, all.y + all.h / 2 - line / 2}};
    const auto put = [&](bool across) {
        return std::any_of(std::begin(places), std::end(places), [&](const Point& at) {
            if (across != crossed({at.x - 2, at.y + lead, w + 4, line - 2 * lead}) ||
                !p_.try_text(words, at, Face::caption, Token::mute, Align::left, id))
                return false;
            if (!across) return true;
            // Where nothing else is left, a line stops at the name instead of running through it.
            p_.layer = kRanks;
            p_.rect({at.x - 4, at.y + lead, w + 8, line - 2 * lead}, Token::bg, 3, id);
            p_.layer = kWords;
            return true;
        });
    };
    return put(false) || put(true);
}

std::vector<Point> MeshPicture::round_of(const std::vector<int64_t>& members, float margin) const {
    std::vector<Rect> boxes;
    for (const int64_t i : members) boxes.push_back(body(i));
    return hull(boxes, margin);
}

bool MeshPicture::alone(const std::vector<Point>& outline, const std::vector<int64_t>& members) const {
    if (outline.empty()) return true;
    Point low = outline[0], high = low;
    for (const Point p : outline) {
        low = {std::min(low.x, p.x), std::min(low.y, p.y)};
        high = {std::max(high.x, p.x), std::max(high.y, p.y)};
    }
    for (int64_t i = 0; i < count_; ++i) {
        const Point at = pos(i);
        if (at.x < low.x || at.x > high.x || at.y < low.y || at.y > high.y) continue;
        if (std::find(members.begin(), members.end(), i) == members.end() && inside(outline, at))
            return false;
    }
    return true;
}

void MeshPicture::sheets() {
    if (!q_.sliced || q_.kept.size() == q_.shape.size()) return;
    std::map<std::vector<int64_t>, std::vector<int64_t>> sheets;
    for (int64_t i = 0; i < count_; ++i) {
        std::vector<int64_t> key;
        const auto at = coordinate(i);
        for (std::size_t d = 0; d < at.size(); ++d)
            if (!kept(d)) key.push_back(at[d]);
        sheets[key].push_back(i);
    }
    Point ex{at_.pitch_x, 0}, ey{0, at_.pitch_y};
    for (const auto& d : at_.dims)
        if (d.inner)
            (d.horizontal ? ex : ey) =
                kept(d.dim) ? d.step : (d.horizontal ? Point{at_.pitch_x, 0} : Point{0, at_.pitch_y});
    const float reach = detail_ == Detail::square ? 0.5F : kSheetReach;
    p_.layer = kSheets;
    for (const auto& [key, members] : sheets) {
        std::vector<Rect> corners;
        // Round cards the edge keeps one distance; hulls stand inside it.
        for (const int64_t i : members) {
            if (detail_ == Detail::card) corners.push_back(body(i));
            for (const float sx : {-reach, reach})
                for (const float sy : {-reach, reach})
                    if (detail_ != Detail::card)
                        corners.push_back(
                            {pos(i).x + sx * ex.x + sy * ey.x, pos(i).y + sx * ex.y + sy * ey.y, 0, 0});
        }
        const bool mine = strength(members[0]) >= 1 && q_.index_of(q_.asking) >= 0;
        const auto outline = hull(corners, detail_ == Detail::card ? kSheetEdge : 0);
        keep_off(outline, true);
        auto& sheet = p_.polygon(outline, mine ? Token::accentbg : Token::panel,
                                 {"sheet", q_.ranks[static_cast<std::size_t>(members[0])]});
        sheet.fill_alpha = (mine ? 1.F : 0.55F) * progress_;
        sheet.stroke = mine ? Token::accent : Token::line2;
        sheet.stroke_alpha = (mine ? 1.F : 0.8F) * progress_;
        sheet.width = mine ? 1.5F : 1;
    }
}

void MeshPicture::links() {
    if (detail_ == Detail::square) return;
    p_.layer = kLinks;
    const auto waiting = wait_lines();  // drawn in the place of the link between the two
    for (std::size_t dim = 0; dim < q_.shape.size(); ++dim) {
        if (q_.shape[dim] < 2) continue;
        const int64_t step = stride(dim);
        const PlacedDim* placed = nullptr;
        for (const auto& d : at_.dims)
            if (d.dim == dim && d.div == 1) placed = &d;
        for (int64_t i = 0; i < count_; ++i) {
            const int64_t k = coordinate(i)[dim];
            if (k + 1 >= q_.shape[dim]) continue;
            if (placed && placed->size < q_.shape[dim] && (k + 1) % placed->size == 0)
                continue;  // a fold's end
            const std::pair<int64_t, int64_t> there{i, i + step}, back{i + step, i};
            if (std::ranges::count(waiting, there) + std::ranges::count(waiting, back) > 0) continue;
            link(dim, i, i + step, i - k * step, bows(dim));
        }
    }
}

bool MeshPicture::bows(std::size_t dim) const {
    for (const auto& d : at_.dims)
        if (d.dim == dim && d.div == 1) return !d.inner && !at_.skewed;
    return false;
}

std::vector<Point> MeshPicture::way(int64_t a, int64_t b, bool bow, float cut) const {
    Point from = pos(a), to = pos(b);
    const float length = std::hypot(to.x - from.x, to.y - from.y);
    cut = std::min(cut, length * 0.45F);
    const Point u{(to.x - from.x) / std::max(1.F, length), (to.y - from.y) / std::max(1.F, length)};
    from = {from.x + u.x * cut, from.y + u.y * cut};
    to = {to.x - u.x * cut, to.y - u.y * cut};
    if (!bow) return {from, to};
    // Outer dims of a flat grid pass beside the ranks between, not through them.
    const float side = std::min(at_.pitch() * 0.42F, 30.F) + (detail_ == Detail::card ? card_.h / 2 : 0.F);
    const Point n{-u.y * side, u.x * side};
    return {from, {from.x - n.x, from.y - std::fabs(n.y)}, {to.x - n.x, to.y - std::fabs(n.y)}, to};
}

void MeshPicture::link(std::size_t dim, int64_t a, int64_t b, int64_t first, bool bow) {
    const bool dropped = q_.sliced && !kept(dim);
    const auto path = way(a, b, bow, detail_ == Detail::card ? 0.F : radius_ + 3);
    Shape* line = nullptr;
    if (path.size() == 4) {
        line = &p_.bezier(path[0], path[1], path[2], path[3], q_.hue(dim));
        std::vector<Point> bent;
        for (int k = 0; k <= 6; ++k)
            bent.push_back(bezier_at(path[0], path[1], path[2], path[3], static_cast<float>(k) / 6));
        keep_off(bent, false);
    } else {
        line = &p_.line(path[0], path[1], q_.hue(dim));
        keep_off(path, false);
    }
    line->stroke_style = q_.stroke(dim);
    line->width = line->stroke_style == Stroke::double_line      ? 1.4F
                  : detail_ == Detail::card || at_.pitch() >= 48 ? 2.2F
                                                                 : 1.4F;
    line->stroke_alpha = (dropped ? 0.75F - 0.4F * progress_ : 0.8F) * std::min(strength(a), strength(b));
    line->id = {"group", static_cast<int64_t>(dim), q_.ranks[static_cast<std::size_t>(first)]};
}

void MeshPicture::hulls() {
    if (!in_.selection.rank) return;
    const int64_t i = q_.index_of(*in_.selection.rank);
    if (i < 0) return;
    p_.layer = kHulls;
    for (std::size_t d = 0; d < q_.shape.size(); ++d) {
        if (q_.shape[d] < 2) continue;
        const auto members = group_members(i, d);
        // One inside the other, never as far as the neighbours, and inside the sheet of a slice.
        const float step = static_cast<float>(d + 1) / static_cast<float>(q_.shape.size());
        const float gap = at_.pitch() / 2 - radius_, edge = 0.41F * at_.pitch() - radius_ - 2;
        float margin = std::min(4 + 8 * step, gap * (0.3F + 0.5F * step));
        if (q_.sliced) margin = std::min(margin, std::max(2.F, edge * (0.4F + 0.6F * step)));
        if (detail_ == Detail::card) margin = std::min(kSheetEdge - 3, 4 + 3 * static_cast<float>(d));
        const auto outline = round_of(members, margin);
        const Id id{"group", static_cast<int64_t>(d), q_.ranks[static_cast<std::size_t>(members[0])]};
        if (alone(outline, members)) {
            auto& h = p_.polygon(outline, q_.hue(d), id);
            h.fill_alpha = 0.07F;
            h.stroke = q_.hue(d);
            h.width = 2;
            keep_off(outline, true);
            continue;
        }
        for (std::size_t m = 0; m < members.size(); ++m) {
            if (m > 0) {
                // One group, not several: a band from ring to ring.
                const auto path = way(members[m - 1], members[m], bows(d), 0);
                auto& band = path.size() == 4 ? p_.bezier(path[0], path[1], path[2], path[3], q_.hue(d))
                                              : p_.line(path[0], path[1], q_.hue(d));
                band.width = 8;
                band.stroke_alpha = 0.35F;
                band.id = {"band", static_cast<int64_t>(d), q_.ranks[static_cast<std::size_t>(members[0])]};
            }
            const auto ring = round_of({members[m]}, margin);
            auto& h = p_.polygon(ring, Token::none, id);
            h.stroke = q_.hue(d);
            h.width = 2;
            keep_off(ring, true);
        }
    }
}

}  // namespace meshscope::view
