#pragma once

#include <string>
#include <vector>

#include "app/gui/view/picture.h"
#include "app/gui/window/theme.h"

struct ImDrawData;

namespace meshscope::test {

/// A run of letters on one line, as a frame's draw lists hold it: what is really on screen, whoever drew it.
struct DrawnText {
    std::string window;               ///< of ImGui, whose list it is in: "host/scene_…", "host/facts_…"
    std::string text;                 ///< decoded from the glyphs
    view::Rect box;                   ///< of its ink, screen pixels
    float size = 0;                   ///< of its face, screen pixels
    double contrast = 21;             ///< WCAG's, to what is drawn below it; the median of its letters
    bool cut = false;                 ///< partly outside of what its list may draw on, to the left or right
    bool covered = false;             ///< something that lets little through was drawn over it later
    std::vector<view::Rect> letters;  ///< ink boxes
};

/// The texts of a frame. `clear`: the colour below everything. Texts that are wholly clipped away are left
/// out; so are letters that a text field cut. Cost: 5 to 50 ms.
std::vector<DrawnText> drawn_texts(const ImDrawData& data, window::Rgb clear);

/// "a" and "b" share pixels, for each pair of visible texts whose letters do.
std::vector<std::string> overlapping(const std::vector<DrawnText>& texts);

}  // namespace meshscope::test
