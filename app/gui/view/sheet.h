#pragma once

#include <string>
#include <vector>

#include "app/gui/view/paint.h"

namespace meshscope::view {

/// Lays out a page of words from top to bottom between two margins, as columns of facts do: heads, rows,
/// paragraphs, code. What it draws it also tells (copy-as-text). `y` moves down with each call.
class Sheet {
  public:
    Sheet(Painter& painter, float left, float right_end, float top)
        : p(painter), x(left), right(right_end), y(top) {}

    float width() const { return right - x; }
    /// Caption at the left, a note at the right where both fit, else below, and a hairline.
    void head(const std::string& words, const std::string& note = {}, Id note_id = {});
    /// Label at the left, value at the right; the value below where both do not fit. `face`: of the value.
    void row(const std::string& label, const std::string& value, Face face = Face::mono_small,
             Token colour = Token::text);
    void paragraph(const std::string& words, Face face = Face::body, Token colour = Token::soft, Id id = {});
    /// Lines of code in an inset box, wrapped.
    void code(const std::string& words, Token colour = Token::soft);
    void space(float height) { y += height; }

    Painter& p;
    float x, right, y;
};

}  // namespace meshscope::view
