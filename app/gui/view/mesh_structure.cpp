#include "app/gui/view/mesh_picture.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "app/gui/view/common.h"
#include "app/gui/view/format.h"

namespace meshscope::view {

void MeshPicture::nodes() {
    if (q_.node_of_rank.empty()) return;
    std::map<int32_t, std::vector<int64_t>> members;
    for (int64_t i = 0; i < count_; ++i) {
        const auto rank = static_cast<std::size_t>(q_.ranks[static_cast<std::size_t>(i)]);
        if (rank < q_.node_of_rank.size()) members[q_.node_of_rank[rank]].push_back(i);
    }
    if (members.size() < 2) return;
    for (const auto& [node, ranks] : members) {
        const float margin = detail_ == Detail::card ? 9.F : std::min(14.F, at_.pitch() * 0.14F);
        const auto outline = round_of(ranks, margin);
        if (!alone(outline, ranks)) continue;
        p_.layer = kNodes;
        auto& shape = p_.polygon(outline, Token::panel, {"node", node});
        shape.stroke = Token::line;
        p_.layer = kWords;
        Point corner = outline.front();
        for (const Point& o : outline)
            if (o.y < corner.y || (o.y == corner.y && o.x < corner.x)) corner = o;
        Rect all = body(ranks[0]);
        for (const int64_t i : ranks) all = join(all, body(i));
        p_.try_text("node " + std::to_string(node),
                    {all.x - margin, all.y - margin - p_.line_height(Face::caption)}, Face::caption,
                    Token::mute, Align::left, {"node", node});
    }
}

std::vector<Point> MeshPicture::round_of(const std::vector<int64_t>& members, float margin) const {
    std::vector<Rect> boxes;
    for (const int64_t i : members) boxes.push_back(body(i));
    return hull(boxes, margin);
}

bool MeshPicture::alone(const std::vector<Point>& outline, const std::vector<int64_t>& members) const {
    for (int64_t i = 0; i < count_; ++i)
        if (std::find(members.begin(), members.end(), i) == members.end() && inside(outline, pos(i)))
            return false;
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
    const float reach = detail_ == Detail::square ? 0.5F : 0.43F;
    p_.layer = kSheets;
    for (const auto& [key, members] : sheets) {
        std::vector<Rect> corners;
        for (const int64_t i : members)
            for (const float sx : {-reach, reach})
                for (const float sy : {-reach, reach})
                    corners.push_back(
                        {pos(i).x + sx * ex.x + sy * ey.x, pos(i).y + sx * ex.y + sy * ey.y, 0, 0});
        const bool mine = strength(members[0]) >= 1 && q_.index_of(q_.asking) >= 0;
        auto& sheet = p_.polygon(hull(corners, 0), mine ? Token::accentbg : Token::panel,
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
            link(dim, i, i + step, i - k * step, placed && !placed->inner && !at_.skewed);
        }
    }
}

void MeshPicture::link(std::size_t dim, int64_t a, int64_t b, int64_t first, bool bow) {
    const bool dropped = q_.sliced && !kept(dim);
    Point from = pos(a), to = pos(b);
    const float length = std::hypot(to.x - from.x, to.y - from.y);
    const float cut = detail_ == Detail::card ? 0.F : std::min(radius_ + 3, length * 0.45F);
    const Point u{(to.x - from.x) / std::max(1.F, length), (to.y - from.y) / std::max(1.F, length)};
    from = {from.x + u.x * cut, from.y + u.y * cut};
    to = {to.x - u.x * cut, to.y - u.y * cut};
    Shape* line = nullptr;
    if (bow) {
        // Outer dims of a flat grid pass beside the ranks between, not through them.
        const float side =
            std::min(at_.pitch() * 0.42F, 30.F) + (detail_ == Detail::card ? card_.h / 2 : 0.F);
        const Point n{-u.y * side, u.x * side};
        line = &p_.bezier(from, {from.x - n.x, from.y - std::fabs(n.y)}, {to.x - n.x, to.y - std::fabs(n.y)},
                          to, q_.hue(dim));
    } else {
        line = &p_.line(from, to, q_.hue(dim));
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
        // One inside the other, and never as far as the neighbours.
        const float gap = at_.pitch() / 2 - radius_;
        const float step = static_cast<float>(d + 1) / static_cast<float>(q_.shape.size());
        const float margin = detail_ == Detail::card ? 4 + 3 * static_cast<float>(d)
                                                     : std::min(4 + 8 * step, gap * (0.3F + 0.5F * step));
        const auto outline = round_of(members, margin);
        const Id id{"group", static_cast<int64_t>(d), q_.ranks[static_cast<std::size_t>(members[0])]};
        if (alone(outline, members)) {
            auto& h = p_.polygon(outline, q_.hue(d), id);
            h.fill_alpha = 0.07F;
            h.stroke = q_.hue(d);
            h.width = 2;
        } else {
            for (const int64_t m : members) {
                auto& h = p_.polygon(round_of({m}, margin), Token::none, id);
                h.stroke = q_.hue(d);
                h.width = 2;
            }
        }
    }
}

}  // namespace meshscope::view
