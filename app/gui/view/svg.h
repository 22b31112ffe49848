#pragma once

#include <functional>
#include <string>

#include "app/gui/view/picture.h"

namespace meshscope::view {

/// Token to "#RRGGBB": the theme's table, given by whoever draws.
using Palette = std::function<std::string(Token)>;

/// The picture as one SVG file, the same list of shapes that the window draws. Fonts are named, not embedded.
/// Cost: linear in the shapes.
std::string svg(const Picture& picture, const Palette& palette);

/// Pixel sizes of the faces, as look.md section 4 bakes them.
float face_size(Face face);
bool is_mono(Face face);

}  // namespace meshscope::view
