#include "app/gui/view/mesh_picture.h"

#include <algorithm>
#include <cmath>

#include "app/gui/view/common.h"
#include "app/gui/view/format.h"

namespace meshscope::view {

void MeshPicture::flat_axes() {
    p_.layer = kWords;
    const float line = p_.line_height(Face::caption);
    float top = 8, left = 12;
    const float node_room = q_.node_of_rank.empty() ? 0 : line;
    Rect all = body(0);
    for (int64_t i = 1; i < count_; ++i) all = join(all, body(i));
    float x_rows = 0;
    for (const auto& d : at_.dims) x_rows += d.horizontal && d.div == 1 && d.size > 1 ? 1.F : 0.F;
    top = std::max(4.F, all.y - std::max(12.F, edge_of(at_.pitch_y) + 3) - line * x_rows - node_room);
    for (auto d = at_.dims.rbegin(); d != at_.dims.rend(); ++d) {
        if (d->size < 2) continue;
        const bool folded = d->div > 1 || d->size < q_.shape[d->dim];
        if (folded && d->horizontal) continue;
        headings(*d, folded, d->horizontal ? top : left);
        if (d->horizontal) top += line;
    }
}

Rect MeshPicture::block_of(const PlacedDim& d, int64_t k) const {
    Rect box{0, 0, -1, -1};
    for (int64_t i = 0; i < count_; ++i) {
        if (coordinate(i)[d.dim] / d.div % d.size != k) continue;
        bool first = true;  // only the first block of the dims further out
        for (const auto& other : at_.dims)
            if (other.horizontal == d.horizontal && !(other.dim == d.dim && other.div == d.div) &&
                outer_of(other, d) && coordinate(i)[other.dim] / other.div % other.size != 0)
                first = false;
        if (!first) continue;
        box = box.w < 0 ? body(i) : join(box, body(i));
    }
    return box;
}

void MeshPicture::headings(const PlacedDim& d, bool folded, float edge) {
    const Token hue = q_.hue(d.dim);
    const float line = p_.line_height(Face::caption);
    const Id id{"axis", static_cast<int64_t>(d.dim)};
    const float room = std::fabs(d.horizontal ? d.step.x : d.step.y) - 6;
    const std::string last = q_.names[d.dim] + " = " + std::to_string(d.size - 1);
    const bool names_fit = !folded && (d.horizontal ? p_.width(last, Face::caption) <= room
                                                    : p_.width(last, Face::caption) <= label_room(d));
    int64_t every = 1;
    const float each = d.horizontal ? p_.width(std::to_string(d.size - 1), Face::mono_small) + 8 : line;
    while (static_cast<float>(every) * (room + 6) < each) every *= 2;
    if (!names_fit) axis_name(d, edge, id);
    for (int64_t k = 0; k < d.size; k += every) {
        const Rect b = block_of(d, k);
        std::string words =
            names_fit ? q_.names[d.dim] + " = " + std::to_string(k) : std::to_string(k * d.div);
        if (folded) words += "–" + std::to_string(std::min(q_.shape[d.dim], (k + 1) * d.div) - 1);
        const Face face = names_fit ? Face::caption : Face::mono_small;
        if (d.horizontal) {
            p_.try_text(words, {b.x + b.w / 2, edge}, face, hue, Align::centre, id);
        } else {
            const float right = std::max(p_.width(words, face) + 4, b.x - 14 - edge_of(at_.pitch_x));
            p_.try_text(words, {right, b.y + b.h / 2 - line / 2}, face, hue, Align::right, id);
        }
    }
}

void MeshPicture::axis_name(const PlacedDim& d, float edge, const Id& id) {
    const Token hue = q_.hue(d.dim);
    const float line = p_.line_height(Face::caption);
    const float w = p_.width(q_.names[d.dim], Face::caption);
    const Rect first = block_of(d, 0), last = block_of(d, d.size - 1);
    if (d.horizontal) {
        const float right = first.x - 40;
        if (!p_.try_text(q_.names[d.dim], {std::max(right, w + 4), edge}, Face::caption, hue, Align::right,
                         id))
            return;
        const float y = edge + line / 2, x = std::max(right, w + 4) + 6;
        arrow({x, y}, {x + 22, y}, hue, id);
        p_.reserve({x - 6, edge, 30, line});
    } else {
        const float x = std::max(4.F, first.x - 14 - w);
        for (const float y : {first.y - line - 2, last.y + last.h + 2})
            if (p_.try_text(q_.names[d.dim], {x, y}, Face::caption, hue, Align::left, id)) return;
    }
}

void MeshPicture::arrow(Point from, Point to, Token hue, const Id& id) {
    keep_off({from, to}, false);
    auto& line = p_.line(from, to, hue, 2);
    line.arrow = true;
    line.id = id;
}

void MeshPicture::corner_axes() {
    p_.layer = kWords;
    const float line = p_.line_height(Face::caption);
    const Point o{34, in_.size.height - legend_height() - 92};
    for (const auto& d : at_.dims) {
        if (d.size < 2) continue;
        const Id id{"axis", static_cast<int64_t>(d.dim)};
        const Token hue = q_.hue(d.dim);
        const float length = std::hypot(d.step.x, d.step.y);
        const Point u{d.step.x / length, d.step.y / length};
        if (d.inner) {
            const float reach = d.horizontal ? 58.F : 46.F;
            const Point tip{o.x + u.x * reach, o.y + u.y * reach};
            arrow(o, tip, hue, id);
            if (d.horizontal)
                p_.try_text(q_.names[d.dim], {o.x + 8, tip.y - line - 4}, Face::caption, hue, Align::left,
                            id);
            else
                p_.try_text(q_.names[d.dim], {std::max(8.F, tip.x - 30), tip.y + 4}, Face::caption, hue,
                            Align::left, id);
            continue;
        }
        float before = 0, height = -1;  // where the last name ended, and on which line
        for (int64_t k = 0; k < d.size; ++k) {
            const Rect b = block_of(d, k);
            const std::string words = q_.names[d.dim] + " = " + std::to_string(k);
            if (d.horizontal) {
                const float bottom = in_.size.height - legend_height() - line - 4;
                for (const float y : {lowest() + (q_.sliced ? 6.F : line), bottom}) {
                    if (!p_.try_text(words, {b.x + b.w / 2, y}, Face::caption, hue, Align::centre, id))
                        continue;
                    // From name to name: this is the axis.
                    const float half = p_.width(words, Face::caption) / 2, x = b.x + b.w / 2;
                    if (y == height && x - half - before > 30)
                        arrow({before + 8, y + line / 2}, {x - half - 8, y + line / 2}, hue, id);
                    before = x + half;
                    height = y;
                    break;
                }
            } else {
                p_.try_text(words, {area_.x - 30, b.y - line}, Face::caption, hue, Align::left, id);
            }
        }
        const Rect a = block_of(d, 0), b = block_of(d, 1);
        if (d.horizontal) {
            const float x = (a.x + a.w + b.x) / 2, y = a.y + a.h * 0.6F;
            if (b.x - a.x - a.w > 70 &&
                p_.try_text(q_.names[d.dim], {x, y - line - 3}, Face::caption, hue, Align::centre, id))
                arrow({x - 22, y}, {x + 22, y}, hue, id);
        }
    }
}

float MeshPicture::lowest() const {
    float y = 0;
    for (const auto& p : at_.positions) y = std::max(y, p.y + std::max(radius_ + 4, at_.pitch_y * 0.43F));
    return y;
}

}  // namespace meshscope::view
