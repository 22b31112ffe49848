#include "app/gui/view/focus.h"

#include <algorithm>

#include "app/gui/view/common.h"
#include "app/gui/view/stepping.h"
#include "app/gui/view/timeline_bars.h"

namespace meshscope::view {

Focus focus_of(const Moment& at) {
    Focus focus;
    focus.rank = focus_rank(at.trace, at.selection);
    focus.step = std::max(0, step_at(at.trace, at.clock, at.cursor.t_ns, at.memo));
    if (at.trace.ranks.empty()) return focus;
    focus.event = selected_event(at.trace, at.selection);
    focus.chosen = focus.event != nullptr && *at.selection.event_rank == focus.rank;
    if (!focus.chosen) {
        const auto now = event_at(at.trace, at.clock, at.cursor, focus.rank);
        focus.event = now ? &at.trace.event(focus.rank, now->event) : nullptr;
    }
    if (focus.event != nullptr && focus.event->step >= 0) focus.step = focus.event->step;
    if (focus.event != nullptr && focus.event->step != focus.step) focus.event = nullptr;  // set-up
    return focus;
}

}  // namespace meshscope::view
