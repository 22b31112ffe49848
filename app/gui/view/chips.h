#pragma once

#include <string>
#include <vector>

#include "app/gui/view/paint.h"

namespace meshscope::view {

/// One of several choices inside a picture; a click answers with its id.
struct Chip {
    std::string words;
    Id id;
    bool on = false;
};

/// Chips side by side from `at`, in as many rows as the width up to `right` takes; the chosen ones lit. Gives
/// the y below the last row. A chip wider than a row is left out.
float draw_chips(Painter& painter, const std::vector<Chip>& chips, Point at, float right);
/// What they take in one row.
float chips_width(const Painter& painter, const std::vector<Chip>& chips);

inline constexpr float kChip = 26;  ///< their height

}  // namespace meshscope::view
