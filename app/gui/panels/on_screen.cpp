#include "app/gui/panels/on_screen.h"

#include <algorithm>
#include <cmath>

#include "app/gui/panels/strokes.h"

namespace meshscope::panels {

using view::Shape;
using view::ShapeKind;

ImVec2 OnScreen::snapped(Point p) const {
    const ImVec2 v = at(p);
    return {std::round(v.x), std::round(v.y)};
}

std::vector<ImVec2> OnScreen::outline_of(const Shape& s) const {
    switch (s.kind) {
        case ShapeKind::rect: {
            const ImVec2 a = snapped({s.box.x, s.box.y}), b = snapped({s.box.x + s.box.w, s.box.y + s.box.h});
            return rounded_rect(a, b, ui_.px(s.radius));
        }
        case ShapeKind::circle:
            return circle(middle(s.box), ui_.px(s.box.w / 2));
        case ShapeKind::bezier:
            if (s.points.size() == 4) {
                return bezier(at(s.points[0]), at(s.points[1]), at(s.points[2]), at(s.points[3]));
            }
            break;
        default:
            break;
    }
    std::vector<ImVec2> path;
    path.reserve(s.points.size());
    for (const Point p : s.points) path.push_back(at(p));
    // Straight lines along an axis stand on whole pixels: else they blur over two.
    if (path.size() == 2 && (path[0].x == path[1].x || path[0].y == path[1].y)) {
        for (ImVec2& p : path) p = {std::floor(p.x) + 0.5F, std::floor(p.y) + 0.5F};
    }
    return path;
}

float OnScreen::stroke_width(const Shape& s) const {
    return std::max(ui_.px(std::max(s.width, s.width <= 1 ? ui_.theme.hairline : s.width)), 1.0F);
}

}  // namespace meshscope::panels
