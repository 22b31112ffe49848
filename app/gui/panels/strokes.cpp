#include "app/gui/panels/strokes.h"

#include <algorithm>
#include <cmath>

#include "app/gui/window/imgui_compat.h"

namespace meshscope::panels {
namespace {

constexpr float kPi = 3.14159265F;
constexpr float kApartPx = 0.01F;  ///< points of a path

float length(ImVec2 a, ImVec2 b) {
    return std::hypot(b.x - a.x, b.y - a.y);
}
ImVec2 between(ImVec2 a, ImVec2 b, float t) {
    return {a.x + (b.x - a.x) * t, a.y + (b.y - a.y) * t};
}

/// Walks along the path drawing `pattern` (drawn, skipped, drawn, …).
void dash(ImDrawList& list, const std::vector<ImVec2>& path, bool closed, const std::vector<float>& pattern,
          ImU32 colour, float width) {
    size_t part = 0;
    float left = pattern[0];
    const size_t count = closed ? path.size() : path.size() - 1;
    for (size_t i = 0; i < count; ++i) {
        const ImVec2 a = path[i], b = path[(i + 1) % path.size()];
        const float whole = length(a, b);
        for (float at = 0; at < whole;) {
            const float step = std::min(left, whole - at);
            if (part % 2 == 0) {
                // Not AddLine: it moves lines by half a pixel, off the path.
                const ImVec2 ends[] = {between(a, b, at / whole), between(a, b, (at + step) / whole)};
                compat::polyline(list, ends, 2, colour, false, width);
            }
            at += step;
            left -= step;
            if (left <= 0) {
                part = (part + 1) % pattern.size();
                left = pattern[part];
            }
        }
    }
}

/// The path moved sideways.
std::vector<ImVec2> beside(const std::vector<ImVec2>& path, bool closed, float by) {
    std::vector<ImVec2> moved(path.size());
    const size_t n = path.size();
    for (size_t i = 0; i < n; ++i) {
        const ImVec2 before = i > 0 ? path[i - 1] : closed ? path[n - 1] : path[0];
        const ImVec2 after = i + 1 < n ? path[i + 1] : closed ? path[0] : path[n - 1];
        const float whole = std::max(0.001F, length(before, after));
        moved[i] = {path[i].x - (after.y - before.y) / whole * by,
                    path[i].y + (after.x - before.x) / whole * by};
    }
    return moved;
}

}  // namespace

std::vector<ImVec2> rounded_rect(ImVec2 a, ImVec2 b, float radius) {
    // Strokes of one pixel are sharp when the path runs through pixel centres.
    a = {a.x + 0.5F, a.y + 0.5F};
    b = {b.x - 0.5F, b.y - 0.5F};
    // One pixel wide or high: a line. As a box its corners would have no direction.
    if (std::abs(b.x - a.x) < kApartPx || std::abs(b.y - a.y) < kApartPx) return {a, b};
    radius = std::max(0.0F, std::min({radius, (b.x - a.x) / 2, (b.y - a.y) / 2}));
    if (radius < 0.5F) return {a, {b.x, a.y}, b, {a.x, b.y}};
    std::vector<ImVec2> path;
    const int steps = std::clamp(static_cast<int>(radius / 2), 3, 12);
    const ImVec2 centres[] = {{b.x - radius, a.y + radius},
                              {b.x - radius, b.y - radius},
                              {a.x + radius, b.y - radius},
                              {a.x + radius, a.y + radius}};
    for (int corner = 0; corner < 4; ++corner) {
        for (int i = 0; i <= steps; ++i) {
            const float angle =
                kPi / 2 *
                (static_cast<float>(corner) - 1 + static_cast<float>(i) / static_cast<float>(steps));
            const ImVec2 p{centres[corner].x + radius * std::cos(angle),
                           centres[corner].y + radius * std::sin(angle)};
            // A capsule's corners meet: two points in one place have no direction, and a spike grows there.
            if (path.empty() || length(path.back(), p) > kApartPx) path.push_back(p);
        }
    }
    if (length(path.back(), path.front()) <= kApartPx) path.pop_back();
    return path;
}

std::vector<ImVec2> circle(ImVec2 centre, float radius) {
    std::vector<ImVec2> path;
    const int count = std::clamp(static_cast<int>(radius * 1.5F), 12, 64);
    for (int i = 0; i < count; ++i) {
        const float angle = 2 * kPi * static_cast<float>(i) / static_cast<float>(count);
        path.push_back({centre.x + radius * std::cos(angle), centre.y + radius * std::sin(angle)});
    }
    return path;
}

std::vector<ImVec2> bezier(ImVec2 a, ImVec2 b, ImVec2 c, ImVec2 d) {
    std::vector<ImVec2> path;
    constexpr int kSteps = 24;
    for (int i = 0; i <= kSteps; ++i) {
        const float t = static_cast<float>(i) / kSteps, u = 1 - t;
        const float p = u * u * u, q = 3 * u * u * t, r = 3 * u * t * t, s = t * t * t;
        path.push_back({p * a.x + q * b.x + r * c.x + s * d.x, p * a.y + q * b.y + r * c.y + s * d.y});
    }
    return path;
}

std::vector<float> dash_pattern(view::Stroke style, float scale) {
    switch (style) {
        case view::Stroke::dotted:
            return {2 * scale, 4 * scale};
        case view::Stroke::dash_dot:
            return {7 * scale, 3 * scale, 2 * scale, 3 * scale};
        default:
            return {5 * scale, 4 * scale};
    }
}

void stroke(ImDrawList& list, const std::vector<ImVec2>& path, bool closed, view::Stroke style, ImU32 colour,
            float width, float scale) {
    const auto count = static_cast<int>(path.size());
    closed = closed && count > 2;
    switch (style) {
        case view::Stroke::solid:
            compat::polyline(list, path.data(), count, colour, closed, width);
            return;
        case view::Stroke::dashed:
        case view::Stroke::dotted:
        case view::Stroke::dash_dot:
            dash(list, path, closed, dash_pattern(style, scale), colour, width);
            return;
        case view::Stroke::double_line: {
            const float apart = std::max(width, 1.5F * scale);
            for (const float side : {-apart, apart}) {
                const std::vector<ImVec2> line = beside(path, closed, side);
                compat::polyline(list, line.data(), count, colour, closed, std::max(1.0F, width * 0.8F));
            }
            return;
        }
    }
}

void arrow_head(ImDrawList& list, const std::vector<ImVec2>& path, float size, ImU32 colour) {
    const ImVec2 tip = path.back();
    // The direction comes from a point one head before the tip, so that a curve's head points along it.
    ImVec2 from = path.front();
    for (size_t i = path.size() - 1; i-- > 0;) {
        if (length(path[i], tip) >= size) {
            from = path[i];
            break;
        }
    }
    const float whole = length(from, tip);
    if (whole < 0.001F) return;
    const ImVec2 along{(tip.x - from.x) / whole, (tip.y - from.y) / whole};
    const ImVec2 foot{tip.x - along.x * size, tip.y - along.y * size};
    const float half = size * 0.45F;
    list.AddTriangleFilled(tip, {foot.x - along.y * half, foot.y + along.x * half},
                           {foot.x + along.y * half, foot.y - along.x * half}, colour);
}

void shorten(std::vector<ImVec2>& path, float by) {
    while (path.size() > 2 && length(path.back(), path[path.size() - 2]) <= by) {
        by -= length(path.back(), path[path.size() - 2]);
        path.pop_back();
    }
    const float last = length(path.back(), path[path.size() - 2]);
    if (last > by) path.back() = between(path.back(), path[path.size() - 2], by / last);
}

namespace {

float turn(ImVec2 a, ImVec2 b, ImVec2 c) {
    return (b.x - a.x) * (c.y - a.y) - (b.y - a.y) * (c.x - a.x);
}

bool convex(const std::vector<ImVec2>& p) {
    bool left = false, right = false;
    for (size_t i = 0; i < p.size(); ++i) {
        const float t = turn(p[i], p[(i + 1) % p.size()], p[(i + 2) % p.size()]);
        left = left || t > 0.01F;
        right = right || t < -0.01F;
    }
    return !(left && right);
}

bool in_triangle(ImVec2 p, ImVec2 a, ImVec2 b, ImVec2 c) {
    const float x = turn(a, b, p), y = turn(b, c, p), z = turn(c, a, p);
    return (x >= 0 && y >= 0 && z >= 0) || (x <= 0 && y <= 0 && z <= 0);
}

}  // namespace

void fill_polygon(ImDrawList& list, const std::vector<ImVec2>& path, ImU32 colour) {
    if (path.size() < 3) return;
    float area = 0;
    for (size_t i = 0; i < path.size(); ++i) {
        const ImVec2 a = path[i], b = path[(i + 1) % path.size()];
        area += a.x * b.y - b.x * a.y;
    }
    std::vector<ImVec2> p = path;
    if (area < 0) std::reverse(p.begin(), p.end());  // ImGui smooths the edges of clockwise polygons only
    if (convex(p)) {
        list.AddConvexPolyFilled(p.data(), static_cast<int>(p.size()), colour);
        return;
    }
    // Ear clipping: stars, crosses and flags have at most a dozen corners.
    while (p.size() > 3) {
        bool cut = false;
        for (size_t i = 0; i < p.size() && !cut; ++i) {
            const ImVec2 a = p[(i + p.size() - 1) % p.size()], b = p[i], c = p[(i + 1) % p.size()];
            if (turn(a, b, c) <= 0) continue;
            const bool empty = std::none_of(p.begin(), p.end(), [&](ImVec2 q) {
                const bool corner =
                    (q.x == a.x && q.y == a.y) || (q.x == b.x && q.y == b.y) || (q.x == c.x && q.y == c.y);
                return !corner && in_triangle(q, a, b, c);
            });
            if (!empty) continue;
            list.AddTriangleFilled(a, b, c, colour);
            p.erase(p.begin() + static_cast<std::ptrdiff_t>(i));
            cut = true;
        }
        if (!cut) break;  // crosses itself: leave the rest
    }
    if (p.size() == 3) list.AddTriangleFilled(p[0], p[1], p[2], colour);
}

float hatch_step(float step) {
    return std::max(step, 2.0F) * 1.4142F;
}

void hatch(ImDrawList& list, ImVec2 a, ImVec2 b, float step, ImU32 colour, float width, bool falling) {
    if (b.x - a.x < 1 || b.y - a.y < 1) return;
    list.PushClipRect(a, b, true);
    step = hatch_step(step);
    if (falling) {
        // x − y = k·step
        const float low = std::floor((a.x - b.y) / step) * step, high = b.x - a.y;
        for (float k = low; k <= high; k += step) list.AddLine({k + a.y, a.y}, {k + b.y, b.y}, colour, width);
    } else {
        // x + y = k·step
        const float low = std::floor((a.x + a.y) / step) * step, high = b.x + b.y;
        for (float k = low; k <= high; k += step) list.AddLine({k - a.y, a.y}, {k - b.y, b.y}, colour, width);
    }
    list.PopClipRect();
}

}  // namespace meshscope::panels
