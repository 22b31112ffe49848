#pragma once

#include <imgui.h>

#include <vector>

#include "app/gui/view/picture.h"

namespace meshscope::panels {

/// The lines of a picture in screen pixels, drawn with what ImGui has.

/// The edge of a box between two corners, half a pixel inside; of one that is a pixel wide or high, a line.
std::vector<ImVec2> rounded_rect(ImVec2 a, ImVec2 b, float radius);
std::vector<ImVec2> circle(ImVec2 centre, float radius);
std::vector<ImVec2> bezier(ImVec2 a, ImVec2 b, ImVec2 c, ImVec2 d);

/// Draws a path: solid, dashed, dotted, dash-dot or as two lines. `scale` sizes the dashes.
void stroke(ImDrawList& list, const std::vector<ImVec2>& path, bool closed, view::Stroke style, ImU32 colour,
            float width, float scale);

/// Drawn, skipped, drawn, … of a dashed, dotted or dash-dot line, pixels: 2 or 4 of them.
std::vector<float> dash_pattern(view::Stroke style, float scale);

/// A filled triangle whose point is the last point of the path.
void arrow_head(ImDrawList& list, const std::vector<ImVec2>& path, float size, ImU32 colour);
/// Cuts `length` off the end of a path.
void shorten(std::vector<ImVec2>& path, float length);

/// Convex, or cut into triangles where it is not.
void fill_polygon(ImDrawList& list, const std::vector<ImVec2>& path, ImU32 colour);

/// From one line of a hatch to the next along an axis, where they are `step` apart.
float hatch_step(float step);
/// Lines at 45° inside the box, aligned to the screen so that neighbours continue each other.
void hatch(ImDrawList& list, ImVec2 a, ImVec2 b, float step, ImU32 colour, float width, bool falling);

}  // namespace meshscope::panels
