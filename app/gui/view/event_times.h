#pragma once

#include <cstdint>
#include <span>

#include "app/gui/view/input.h"

namespace meshscope::view {

/// The hops that an event of a rank received, in the order of the record. Cost: a binary search.
std::span<const trace::Hop> hops_of(const trace::Trace& trace, int32_t rank, int32_t event);

/// When an event was, or a hop that stands in its rank's record, on a clock of the trace.
const time::Interval& time_of(const time::Clock& clock, int32_t rank, int32_t event);
const time::Interval& time_of(const trace::Trace& trace, const time::Clock& clock, int32_t rank,
                              const trace::Hop& hop);

/// Share of an interval that has passed at a moment: 0 before it, 1 once it has ended.
float share_of(const time::Interval& interval, int64_t t_ns);
/// The same of an event at the cursor; 1 where there is none (-1).
float share_done(const Input& input, int32_t rank, int32_t event);

}  // namespace meshscope::view
