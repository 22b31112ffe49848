#pragma once

#include <string>
#include <vector>

#include "app/gui/view/picture.h"

namespace meshscope::test {

/// What is wrong with a picture's texts: wider than measured room, outside the picture, on top of each other,
/// an id missing from text catalogues (a text that still looks like "view.x.y"), a placeholder left unfilled.
/// One line each.
std::vector<std::string> text_problems(const view::Picture& picture, const view::TextMeasure& measure);

/// The shapes with this id kind (and first number, when given).
std::vector<const view::Shape*> find(const view::Picture& picture, const std::string& kind, int64_t a = -2,
                                     int64_t b = -2);

/// True when some text of the picture is exactly this, or contains it.
bool says(const view::Picture& picture, const std::string& text);
bool says_part(const view::Picture& picture, const std::string& part);

}  // namespace meshscope::test
