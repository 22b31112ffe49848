#pragma once

#include <cstdint>
#include <vector>

#include "core/base/kinds.h"
#include "core/time/clock.h"
#include "core/trace/trace.h"

namespace meshscope::view {

/// Streams on which any rank has an event, compute first: the lanes of the timeline.
std::vector<Stream> streams_in_use(const trace::Trace& trace);

/// One bar of a lane: an event, or several that are too narrow to tell apart.
struct Bar {
    float x0 = 0, x1 = 0;
    int32_t event = -1;  ///< the first event's id
    int32_t count = 1;   ///< events in it
};

/// The bars of a lane in ascending order, those narrower than `least` pixels merged with neighbours nearer
/// than that (look.md section 10: under 3 px). A wide bar is never merged. Input bars ascend by x0 and do not
/// overlap. Cost: one pass.
std::vector<Bar> merge_narrow(const std::vector<Bar>& bars, float least = 3);

/// From when an event could have begun (the end of what its stream did before, and of all it depends on) to
/// when it began: on a collective the time spent waiting for other ranks, on compute the time spent waiting
/// for data before it was there is counted from the end of its stream's event before. Empty (begin == end)
/// when it did not wait.
time::Interval wait_of(const trace::Trace& trace, const time::Clock& clock, int32_t rank, int32_t event);

/// From the first begin to the last end of a step's events on all ranks.
time::Interval step_interval(const trace::Trace& trace, const time::Clock& clock, int32_t step);

/// The step at the cursor: the last that has begun on any rank; -1 in set-up.
int32_t step_at(const trace::Trace& trace, const time::Clock& clock, int64_t t_ns);

}  // namespace meshscope::view
