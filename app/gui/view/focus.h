#pragma once

#include <cstdint>

#include "app/gui/view/input.h"

namespace meshscope::view {

/// What a picture of one rank's step speaks of.
struct Focus {
    int32_t rank = 0, step = 0;
    /// Of that rank and step the selected event, else what the rank does at the cursor; null: neither.
    const trace::Event* event = nullptr;
    bool chosen = false;  ///< it is the selected one
};
/// The rank as focus_rank(), the event's step, where there is none the step at the cursor. Cost: O(events of
/// the rank).
Focus focus_of(const Moment& at);

}  // namespace meshscope::view
