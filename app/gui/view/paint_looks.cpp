#include <algorithm>
#include <array>
#include <cmath>

#include "app/gui/view/paint.h"

namespace meshscope::view {
namespace {

constexpr float kPi = 3.14159265F;

struct DimLook {
    const char* name;
    Token hue;
    Stroke stroke;
};
constexpr std::array<DimLook, 5> kDims{{{"replicate", Token::pink, Stroke::double_line},
                                        {"shard", Token::sky, Stroke::solid},
                                        {"tp", Token::green, Stroke::dotted},
                                        {"pp", Token::yellow, Stroke::dashed},
                                        {"cp", Token::red, Stroke::dash_dot}}};

const DimLook& dim_look(const std::string& name, std::size_t position) {
    for (const auto& look : kDims)
        if (name == look.name) return look;
    for (const auto& look : kDims)  // data dims stand first in the list
        if (name.starts_with(std::string(look.name) + "_") || name.ends_with("_" + std::string(look.name)))
            return look;
    return kDims[position % kDims.size()];
}

float cross(Point o, Point a, Point b) {
    return (a.x - o.x) * (b.y - o.y) - (a.y - o.y) * (b.x - o.x);
}

}  // namespace

Token dim_hue(const std::string& name, std::size_t position) {
    return dim_look(name, position).hue;
}
Stroke dim_stroke(const std::string& name, std::size_t position) {
    return dim_look(name, position).stroke;
}

Token origin_hue(int64_t origin) {
    constexpr std::array<Token, 8> kHues{Token::sky,    Token::orange, Token::green, Token::pink,
                                         Token::yellow, Token::blue,   Token::red,   Token::grey};
    return kHues[static_cast<std::size_t>(origin % 8)];
}

Token op_hue(CollectiveOp op) {
    switch (op) {
        case CollectiveOp::all_gather:
        case CollectiveOp::gather:
            return Token::sky;
        case CollectiveOp::reduce_scatter:
        case CollectiveOp::scatter:
            return Token::orange;
        case CollectiveOp::all_reduce:
        case CollectiveOp::reduce:
            return Token::pink;
        case CollectiveOp::broadcast:
            return Token::yellow;
        case CollectiveOp::send:
        case CollectiveOp::recv:
            return Token::green;
        case CollectiveOp::all_to_all:
            return Token::blue;
        case CollectiveOp::barrier:
            return Token::grey;
    }
    return Token::grey;
}

void tint(Shape& shape, Token hue) {
    shape.fill = shape.stroke = hue;
    shape.fill_alpha = 0.26F;
    shape.width = 1.4F;
}

Token stream_hue(Stream stream) {
    switch (stream) {
        case Stream::all_gather:
            return Token::sky;
        case Stream::reduce_scatter:
            return Token::orange;
        case Stream::all_reduce:
            return Token::pink;
        case Stream::copy:
            return Token::grey;
        case Stream::p2p:
            return Token::green;
        case Stream::compute:
            return Token::compute;
    }
    return Token::compute;
}

std::vector<Point> hull(const std::vector<Rect>& boxes, float margin) {
    std::vector<Point> points;
    constexpr int kCorner = 4;  // points a rounded corner
    for (const auto& b : boxes)
        for (int corner = 0; corner < 4; ++corner) {
            const Point c{corner == 0 || corner == 3 ? b.x + b.w : b.x, corner < 2 ? b.y + b.h : b.y};
            for (int i = 0; i <= kCorner; ++i) {
                const float a = (static_cast<float>(corner) + static_cast<float>(i) / kCorner) * kPi / 2;
                points.push_back({c.x + margin * std::cos(a), c.y + margin * std::sin(a)});
            }
        }
    if (points.size() < 3) return points;
    std::sort(points.begin(), points.end(),
              [](Point a, Point b) { return a.x < b.x || (a.x == b.x && a.y < b.y); });
    std::vector<Point> out;
    // Monotone chain: lower half, then upper half.
    for (int half = 0; half < 2; ++half) {
        const std::size_t floor_size = out.size();
        for (const Point p : points) {
            while (out.size() >= floor_size + 2 && cross(out[out.size() - 2], out.back(), p) <= 0)
                out.pop_back();
            out.push_back(p);
        }
        out.pop_back();
        std::reverse(points.begin(), points.end());
    }
    return out;
}

bool inside(const std::vector<Point>& polygon, Point p) {
    bool in = false;
    for (std::size_t i = 0, j = polygon.size() - 1; i < polygon.size(); j = i++) {
        const Point a = polygon[i], b = polygon[j];
        if ((a.y > p.y) != (b.y > p.y) && p.x < (b.x - a.x) * (p.y - a.y) / (b.y - a.y) + a.x) in = !in;
    }
    return in;
}

Point bezier_at(Point a, Point b, Point c, Point d, float t) {
    const float u = 1 - t;
    const float wa = u * u * u, wb = 3 * u * u * t, wc = 3 * u * t * t, wd = t * t * t;
    return {wa * a.x + wb * b.x + wc * c.x + wd * d.x, wa * a.y + wb * b.y + wc * c.y + wd * d.y};
}

Rect off_edge(const Rect& cell, float filled, float line) {
    const float empty = cell.h - filled;
    if (filled <= 0 || empty <= 0 || std::fabs(empty - cell.h / 2) >= line / 2) return cell;
    if (filled >= line) return {cell.x, cell.y + empty, cell.w, filled};
    return empty >= line ? Rect{cell.x, cell.y, cell.w, empty} : cell;
}

Rect aside(const Rect& bar, float line_x) {
    const float left = line_x - bar.x, right = bar.x + bar.w - line_x;
    if (left < -1 || right < -1) return bar;
    return left > right ? Rect{bar.x, bar.y, std::max(0.F, left - 2), bar.h}
                        : Rect{line_x + 2, bar.y, std::max(0.F, right - 2), bar.h};
}

float ease_in_out_cubic(float t) {
    t = std::clamp(t, 0.F, 1.F);
    return t < 0.5F ? 4 * t * t * t : 1 - std::pow(-2 * t + 2, 3.F) / 2;
}

float ease_out_quint(float t) {
    return 1 - std::pow(1 - std::clamp(t, 0.F, 1.F), 5.F);
}

}  // namespace meshscope::view
