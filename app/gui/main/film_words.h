#pragma once

#include <string>
#include <vector>

#include "app/gui/view/state.h"
#include "core/scenario/scenario.h"

namespace meshscope::gui {

/// The text in that language, else in the other.
const std::string& in_language(const scenario::Text& text, view::Language language);

/// A step's text as sentences without marks, in order. Questions are left out: nobody answers in a film. So
/// are tables and programs, and what ends in a colon before them.
std::vector<std::string> sentences(const std::string& body);

/// How long a sentence stays so that it can be read: a second, and one more for each 15 Latin letters or 5
/// Chinese characters.
double reading_seconds(const std::string& sentence);

/// A sentence, and from which frame of a shot on it stands there.
struct Said {
    std::string sentence;
    int from_frame = 0;
};

/// As many of the sentences, from the first on, as can be read in so many frames, at least one; each gets its
/// share.
std::vector<Said> read_in(const std::vector<std::string>& sentences, int frames, int frames_per_s);

/// No step of a tour takes less than this where nothing says how long it takes.
inline constexpr double kLeastStepSeconds = 3;

}  // namespace meshscope::gui
