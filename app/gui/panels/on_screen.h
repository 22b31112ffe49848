#pragma once

#include <imgui.h>

#include <vector>

#include "app/gui/panels/ui.h"
#include "app/gui/view/picture.h"

namespace meshscope::panels {

/// Whether a shape's outline comes back to where it began, so that it can be filled.
inline bool is_closed(const view::Shape& shape) {
    using view::ShapeKind;
    return shape.kind == ShapeKind::rect || shape.kind == ShapeKind::circle ||
           shape.kind == ShapeKind::polygon;
}

/// Where a picture's shapes stand in screen pixels, the same however they are drawn.
class OnScreen {
  public:
    OnScreen(const Ui& ui, Point origin) : ui_(ui), origin_(origin) {}

    ImVec2 at(Point p) const { return {ui_.px(p.x + origin_.x), ui_.px(p.y + origin_.y)}; }
    /// On whole pixels: edges are sharp there.
    ImVec2 snapped(Point p) const;
    ImVec2 middle(const Rect& box) const { return at({box.x + box.w / 2, box.y + box.h / 2}); }
    /// The line that a shape's stroke follows.
    std::vector<ImVec2> outline_of(const view::Shape& shape) const;
    float stroke_width(const view::Shape& shape) const;

  private:
    const Ui& ui_;
    Point origin_;
};

}  // namespace meshscope::panels
