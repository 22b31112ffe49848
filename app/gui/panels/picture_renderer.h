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

/// The box round a shape, whatever its kind.
Rect bounds(const view::Shape& shape);

}  // namespace meshscope::panels
