#pragma once

#include <string>
#include <vector>

#include "app/gui/panels/ui.h"
#include "app/gui/view/picture.h"
#include "app/gui/view/svg.h"
#include "app/gui/window/theme.h"

namespace meshscope::gui {

/// The pictures of the scene and of what stands under it, one above the other, without the facts and without
/// buttons.
view::Picture stacked(const std::vector<panels::Drawn>& drawn);

/// "#RRGGBB" of each token in this theme; holds on to the theme.
view::Palette palette(const window::Theme& theme);

}  // namespace meshscope::gui
