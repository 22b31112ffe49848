#pragma once

#include <cstddef>
#include <string>

#include "app/gui/view/picture.h"

namespace meshscope::view {

/// Where in `text` a line ends that begins at byte `from` and is at most `room` wide: between two letters;
/// `from` itself where not even one fits. Cost: O(log n) measurements, none of much more than twice what
/// fits, however long the text is.
std::size_t line_end(const TextMeasure& measure, const std::string& text, std::size_t from, Face face,
                     float room);

/// The byte behind the letter that begins at `at`.
std::size_t next_letter(const std::string& text, std::size_t at);

/// The text where it is at most `room` wide, else as much of its beginning as fits before "…"; "" where not
/// even that does. Cost: that of line_end.
std::string elided(const TextMeasure& measure, const std::string& text, Face face, float room);

}  // namespace meshscope::view
