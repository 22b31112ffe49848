#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "app/gui/view/paint.h"
#include "app/gui/view/stepping.h"

namespace meshscope::view {

/// Events of one rank on the shown clock, as bars: what is computed above, communication below it, the cursor
/// through both.
struct OpStrip {
    int32_t rank = 0;
    std::vector<int32_t> events;  ///< in the order of issue
    /// What a bar may say, longest first; nothing: it says nothing.
    std::function<std::vector<std::string>(const trace::Event&)> words;
    /// False: it stands back, as something beside the matter.
    std::function<bool(const trace::Event&)> in_front;
    std::vector<int32_t> open = {};  ///< calls that never ended, as the run broke off
};

/// Draws it between `left` and `right` from y down, times counted from the first begin; gives the y below its
/// ruler. The painter's layer is the bars'; the three above it are used too. Ids: "kernel" a = rank, b =
/// event id; "cursor". Cost: O(events and their hops).
float draw_op_strip(Painter& painter, const Input& input, const OpStrip& strip, float left, float right,
                    float y);

/// The next (`by` 1) or the previous (-1) of these events of a rank, on the clock: behind the selected one
/// where it is one of them, else behind the one that began last before the cursor. Nothing behind the last.
std::optional<EventRef> next_in_strip(const Moment& at, int32_t rank, std::vector<int32_t> events, int by);

}  // namespace meshscope::view
