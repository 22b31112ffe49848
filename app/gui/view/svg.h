#pragma once

#include <functional>
#include <string>

#include "app/gui/view/picture.h"

namespace meshscope::view {

/// Token to "#RRGGBB": the theme's table, given by whoever draws.
using Palette = std::function<std::string(Token)>;

/// The picture as one SVG file, the same list of shapes that the window draws. Fonts are named, not embedded:
/// with a `measure` each text is as wide as it says, whatever face there is. Cost: linear in the shapes.
std::string svg(const Picture& picture, const Palette& palette, const TextMeasure* measure = nullptr);

/// The same in two themes: in `light`'s colours, and where whoever shows it prefers a dark scheme (CSS's
/// prefers-color-scheme) in `dark`'s. Of tokens that are alike in the light theme only, all but one are drawn
/// a shade off there, which no eye sees. Cost: two files' worth.
std::string svg(const Picture& picture, const Palette& light, const Palette& dark,
                const TextMeasure* measure = nullptr);

/// Pixel sizes of the faces, as look.md section 4 bakes them.
float face_size(Face face);
bool is_mono(Face face);

}  // namespace meshscope::view
