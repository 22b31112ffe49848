#pragma once

#include <optional>

#include "app/gui/panels/ui.h"
#include "app/gui/view/picture.h"

namespace meshscope::panels {

/// Draws a picture with its top left corner at `origin` (logical pixels of the window). Texts that do not fit
/// their box are recorded as overflows. Cost: linear in the shapes.
void render(Ui& ui, const view::Picture& picture, Point origin);

/// The topmost shape with an id under `at` (picture coordinates). Lines count within 5 pixels.
std::optional<view::Id> hit(const view::Picture& picture, Point at);

/// The lines of a shape's pattern: in the colour that the shape names, else its own; a neutral fill's in
/// line2. Themes of solid tints draw them at full strength, so that they stand out from the tint they lie on.
struct HatchLook {
    window::Rgb line;
    float alpha = 1;
    float step = 0, width = 0;  ///< logical pixels: from line to line, and of a line
};
HatchLook hatch_look(const window::Theme& theme, const view::Shape& shape);

/// The box round a shape, whatever its kind.
Rect bounds(const view::Shape& shape);
/// How far down a picture's shapes reach, logical pixels from its top.
float bottom_of(const view::Picture& picture);

}  // namespace meshscope::panels
