#pragma once

#include <string>
#include <vector>

#include "app/gui/panels/inline_text.h"
#include "app/gui/view/picture.h"

namespace meshscope::panels {

/// Code is set in the mono face, everything else in the running one.
view::Face face_of(const Span& span);

/// A piece of a span, where it stands in its column.
struct TextRun {
    size_t span = 0;  ///< which one
    std::string text;
    float x = 0, width = 0;  ///< from the column's left edge
    int line = 0;
};

/// Sets spans of several looks one after the other in lines of this width. Between two spans a line breaks
/// where it would within one: never before a closing mark (`net1`, stays one), nor behind an opening one; a
/// link stays in one piece where a line can hold it. Code wider than a line is broken behind its dots,
/// brackets and commas, then between the words of a name, and only then anywhere. A closing mark behind a
/// line that is full hangs into the margin. Cost: linear in the text.
std::vector<TextRun> set_text(const view::TextMeasure& measure, const std::vector<Span>& spans, float width);

}  // namespace meshscope::panels
