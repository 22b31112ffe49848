#pragma once

#include "core/time/clock.h"

namespace meshscope::time {

/// What counts of a step's span where all ranks had ended the step before at `before_end_ns` (0: there is
/// none): what was begun earlier, while others were still in that one, belongs to its time. Never longer than
/// the span, and empty where the step before ended later.
Interval counted_span(const Interval& span, int64_t before_end_ns);

/// The same of a step of a trace: from when all ranks have ended the step before, or from the step's first
/// begin where that comes later, to its last end over all ranks, evaluation not counted. Cost: two passes
/// over the events.
Interval counted_span(const trace::Trace& trace, const Clock& clock, int32_t step);

/// What a step takes on a clock: how much later it ends on all ranks than the one before. Ranks that are
/// done, of a pipeline above all, go on with the next step while others end this one; the first step, and one
/// that begins when all ranks have ended the one before, takes its own span. Cost: two passes over the
/// events.
int64_t step_ns(const trace::Trace& trace, const Clock& clock, int32_t step);

}  // namespace meshscope::time
