#include "app/gui/panels/picture_renderer.h"

#include <algorithm>
#include <cmath>

#include "app/gui/panels/batches.h"
#include "app/gui/panels/on_screen.h"
#include "app/gui/panels/strokes.h"
#include "core/base/text.h"

namespace meshscope::panels {
namespace {

using view::Fill;
using view::Shape;
using view::ShapeKind;

bool is_neutral(Token token) {
    switch (token) {
        case Token::bg:
        case Token::panel:
        case Token::raised:
        case Token::inset:
        case Token::ghost:
            return true;
        default:
            return false;
    }
}

/// Draws one picture: holds what a single shape cannot know by itself.
class Renderer {
  public:
    Renderer(Ui& ui, const view::Picture& picture, Point origin)
        : ui_(ui),
          picture_(picture),
          on_(ui, origin),
          batches_(ui, origin, [this](const Part& part) { plain(part); }) {}

    void run() {
        in_order();
        batches_.flush();
    }

  private:
    void in_order() {
        const auto below = [](const Shape& a, const Shape& b) { return a.layer < b.layer; };
        if (std::is_sorted(picture_.shapes.begin(), picture_.shapes.end(), below)) {
            for (const Shape& s : picture_.shapes) draw(s);
            return;
        }
        std::vector<const Shape*> order;
        for (const Shape& s : picture_.shapes) order.push_back(&s);
        std::stable_sort(order.begin(), order.end(),
                         [&](const Shape* a, const Shape* b) { return below(*a, *b); });
        for (const Shape* s : order) draw(*s);
    }

    /// Whether nothing of a shape can be seen in the region that is drawn into: most of a long table cannot.
    bool hidden(const Shape& s) const {
        // A stroke stands out by half its width, a double one by its distance, an arrow's head by its size.
        const float out = ui_.px(std::max(8.0F, 3 * s.width)) + 4;
        const Rect box = bounds(s);
        const ImVec2 low = on_.at({box.x, box.y}), high = on_.at({box.x + box.w, box.y + box.h});
        const ImVec2 clip_low = ui_.draw->GetClipRectMin(), clip_high = ui_.draw->GetClipRectMax();
        return high.x + out < clip_low.x || low.x - out > clip_high.x || high.y + out < clip_low.y ||
               low.y - out > clip_high.y;
    }

    void draw(const Shape& s) {
        if (s.kind == ShapeKind::text) return text(s);
        const bool closed = is_closed(s);
        const bool filled = closed && s.fill != Token::none && s.pattern != Fill::none;
        const bool stroked = s.stroke != Token::none && s.width > 0;
        if (filled) fills_.push_back(&s);
        // Many only answer to the pointer.
        if ((!filled && !stroked) || hidden(s)) return;
        const Part part{&s, filled, stroked};
        if (batches_.take(part)) return;
        batches_.flush();
        plain(part);
    }

    /// With what ImGui has.
    void plain(const Part& part) {
        const Shape& s = *part.shape;
        const bool closed = is_closed(s);
        std::vector<ImVec2> path;
        if (part.stroke || s.kind == ShapeKind::polygon) path = on_.outline_of(s);
        if (part.fill) fill(s, path);
        if (!part.stroke || path.size() < 2) return;
        const ImU32 colour = ui_.colour(s.stroke, s.stroke_alpha);
        const float width = on_.stroke_width(s);
        if (s.arrow && !closed) {
            const float head = std::max(ui_.px(7), width * 3);
            arrow_head(*ui_.draw, path, head, colour);
            shorten(path, head * 0.8F);
        }
        stroke(*ui_.draw, path, closed, s.stroke_style, colour, width, ui_.scale);
    }

    void fill(const Shape& s, const std::vector<ImVec2>& path) {
        const ImU32 colour = ui_.colour(s.fill, s.fill_alpha);
        if (s.kind == ShapeKind::rect) {
            ui_.draw->AddRectFilled(on_.snapped({s.box.x, s.box.y}),
                                    on_.snapped({s.box.x + s.box.w, s.box.y + s.box.h}), colour,
                                    ui_.px(s.radius));
        } else if (s.kind == ShapeKind::circle) {
            ui_.draw->AddCircleFilled(on_.middle(s.box), ui_.px(s.box.w / 2), colour, 0);
        } else {
            fill_polygon(*ui_.draw, path, colour);
        }
        if (s.pattern == Fill::solid) return;
        const HatchLook look = hatch_look(ui_.theme, s);
        const ImU32 line = Ui::pack(look.line, look.alpha);
        const float step = ui_.px(look.step), width = ui_.px(look.width);
        const Rect box = bounds(s);
        const ImVec2 low = on_.snapped({box.x, box.y}), high = on_.snapped({box.x + box.w, box.y + box.h});
        hatch(*ui_.draw, low, high, step, line, width, false);
        if (s.pattern == Fill::cross_hatch) hatch(*ui_.draw, low, high, step, line, width, true);
    }

    void text(const Shape& s) {
        if (s.text.empty()) return;
        const float wide = ui_.width(s.text, s.face), slack = 2 / ui_.scale;
        if (s.box.w > 0 && wide > s.box.w + slack)
            ui_.overflows.push_back({ui_.panel, s.text, wide, s.box.w});
        float x = s.box.x;
        if (s.align == Align::centre) x += (s.box.w - wide) / 2;
        if (s.align == Align::right) x += s.box.w - wide;
        if (x < -slack || x + wide > picture_.width + slack) {
            ui_.overflows.push_back({ui_.panel, s.text, x < 0 ? wide - x : x + wide, picture_.width});
        }
        if (hidden(s)) return;  // measured all the same: what does not fit is told wherever it stands
        batches_.flush();
        const float size = ui_.fonts.pixels(s.face);
        const ImVec2 top = on_.at({x, s.box.y + s.box.h / 2});
        const std::string words = printable(s.text);
        ui_.draw->AddText(ui_.fonts.font(s.face), size, {std::round(top.x), std::round(top.y - size / 2)},
                          text_colour(s), words.data(), words.data() + words.size());
    }

    /// Ink takes whichever of ink and white reads better on what lies under it; compute bars have a word
    /// colour of their own.
    ImU32 text_colour(const Shape& s) const {
        const Token token = s.fill == Token::none ? Token::text : s.fill;
        if (token != Token::ink && token != Token::text) return ui_.word(token, s.fill_alpha);
        const Point middle{s.box.x + s.box.w / 2, s.box.y + s.box.h / 2};
        for (auto it = fills_.rbegin(); it != fills_.rend(); ++it) {
            const Shape& under = **it;
            if (under.fill_alpha < 0.5F || !bounds(under).contains(middle)) continue;
            if (under.fill == Token::compute) return Ui::pack(ui_.theme.on_compute, s.fill_alpha);
            if (token == Token::text) break;
            return Ui::pack(ui_.theme.ink_on(ui_.theme.fill(under.fill)), s.fill_alpha);
        }
        return ui_.word(token, s.fill_alpha);
    }

    Ui& ui_;
    const view::Picture& picture_;
    OnScreen on_;
    Batches batches_;
    std::vector<const Shape*> fills_;
};

float distance_to_segment(Point p, Point a, Point b) {
    const float dx = b.x - a.x, dy = b.y - a.y, length = dx * dx + dy * dy;
    const float t =
        length > 0 ? std::clamp(((p.x - a.x) * dx + (p.y - a.y) * dy) / length, 0.0F, 1.0F) : 0.0F;
    return std::hypot(p.x - a.x - t * dx, p.y - a.y - t * dy);
}

bool inside_polygon(const std::vector<Point>& points, Point p) {
    bool inside = false;
    for (size_t i = 0, j = points.size() - 1; i < points.size(); j = i++) {
        const Point a = points[i], b = points[j];
        if ((a.y > p.y) != (b.y > p.y) && p.x < (b.x - a.x) * (p.y - a.y) / (b.y - a.y) + a.x)
            inside = !inside;
    }
    return inside;
}

bool contains(const Shape& s, Point p) {
    switch (s.kind) {
        case ShapeKind::rect:
        case ShapeKind::text:
            return s.box.contains(p);
        case ShapeKind::circle:
            return std::hypot(p.x - s.box.x - s.box.w / 2, p.y - s.box.y - s.box.h / 2) <= s.box.w / 2;
        case ShapeKind::polygon:
            return s.points.size() > 2 && inside_polygon(s.points, p);
        default:
            break;
    }
    for (size_t i = 1; i < s.points.size(); ++i) {
        if (distance_to_segment(p, s.points[i - 1], s.points[i]) <= std::max(5.0F, s.width)) return true;
    }
    return false;
}

}  // namespace

HatchLook hatch_look(const window::Theme& theme, const view::Shape& s) {
    HatchLook look;
    const Token token = s.hatch != Token::none ? s.hatch : is_neutral(s.fill) ? Token::line2 : s.fill;
    look.line = theme.fill(token);
    look.alpha = theme.solid_tints        ? 1
                 : s.hatch != Token::none ? 0.75F * std::max(s.fill_alpha, 0.6F)
                 : token == Token::line2  ? 1
                                          : 0.75F;
    // Closer lines still leave two pixels between them: nearer ones melt into a tint.
    look.step = s.pattern == Fill::dense_hatch ? std::max(theme.hatch_step / 2, theme.hatch_width + 2)
                                               : theme.hatch_step;
    look.width = theme.hatch_width;
    return look;
}

Rect bounds(const view::Shape& s) {
    if (s.points.empty() || s.kind == ShapeKind::rect || s.kind == ShapeKind::circle ||
        s.kind == ShapeKind::text) {
        return s.box;
    }
    Point low = s.points[0], high = low;
    for (const Point p : s.points) {
        low = {std::min(low.x, p.x), std::min(low.y, p.y)};
        high = {std::max(high.x, p.x), std::max(high.y, p.y)};
    }
    return {low.x, low.y, high.x - low.x, high.y - low.y};
}

float bottom_of(const view::Picture& picture) {
    float y = 0;
    for (const view::Shape& shape : picture.shapes) {
        const Rect box = bounds(shape);
        y = std::max(y, box.y + box.h);
    }
    return y;
}

void render(Ui& ui, const view::Picture& picture, Point origin) {
    const auto draw = [&](const view::Picture& shown) {
        if (ui.drawn != nullptr) ui.drawn->push_back({ui.panel, shown});
        Renderer(ui, shown, origin).run();
    };
    if (!ui.quiz_mask.open()) return draw(picture);
    view::Picture covered = picture;
    ui.quiz_mask.mask(covered, ui.panel);
    draw(covered);
}

std::optional<view::Id> hit(const view::Picture& picture, Point at) {
    const view::Shape* best = nullptr;
    for (const view::Shape& s : picture.shapes) {
        if (s.id.kind.empty() || (best != nullptr && s.layer < best->layer)) continue;
        if (contains(s, at)) best = &s;
    }
    if (best == nullptr) return {};
    return best->id;
}

}  // namespace meshscope::panels
