#pragma once

#include <string>

#include "app/gui/view/paint.h"

namespace meshscope::view {

/// The word in an event's bar (event_bar), no wider than it. Hatches stop around it: letters on lines are not
/// read.
void event_words(Painter& painter, const trace::Event& event, const Rect& box, const std::string& words,
                 Token colour, Token on, const Id& id);

}  // namespace meshscope::view
