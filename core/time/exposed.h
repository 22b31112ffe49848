#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "core/time/clock.h"

namespace meshscope::time {

/// How one rank's communication and computation lie over each other, as unions of intervals: what two streams
/// do at once counts once. communication_ns = hidden_ns + total of exposed.
struct Overlap {
    std::vector<Interval>
        exposed;  ///< some collective runs and nothing is computed; ascending, apart from each other
    int64_t exposed_ns = 0;        ///< total of `exposed`
    int64_t hidden_ns = 0;         ///< communication with computation under way at the same time
    int64_t communication_ns = 0;  ///< some collective runs
    int64_t compute_ns = 0;        ///< something is computed
};

/// The overlap of one rank on one clock: its collectives (on whatever stream) against its compute stream's
/// compute events. Copies into communication buffers, on the copy stream, count as neither. With `step` ≥ -1
/// only that step's collectives and compute are counted, but a collective is hidden by any computation, of a
/// neighbouring step too. Nothing behind `until_ns` counts: of a run that broke off the calls that never
/// ended last to its clock's end. Throws InvalidArgument ("time.no_rank"). Cost: a sort of the rank's events.
Overlap overlap(const trace::Trace& trace, const Clock& clock, int32_t rank, int32_t step = -2,
                int64_t until_ns = std::numeric_limits<int64_t>::max());

/// How a rank's compute stream was used between a beginning and an end that all ranks share.
struct Bubble {
    int64_t span_ns = 0;  ///< from the first begin to the last end of a step's events, over all ranks
    int64_t busy_ns = 0;  ///< something of the step is computed on this rank
    int64_t idle_ns = 0;  ///< the rest: the bubble of a pipeline, and all other waiting; never below 0
    double share() const { return span_ns == 0 ? 0.0 : double(idle_ns) / double(span_ns); }
    /// idle / busy: the bubble as a fraction of the ideal time, as the pipeline papers count it.
    double of_ideal() const { return busy_ns == 0 ? 0.0 : double(idle_ns) / double(busy_ns); }
};

/// One rank's bubble in a step on one clock (its forward and backward alone when `passes_only`): of the step
/// from its first begin to its last end over all ranks, evaluation not counted, or of a span that is known
/// already, as counted_span() gives it. Throws InvalidArgument ("time.no_rank"). Cost: a pass over the rank's
/// events and a sort of them; without a span also one over all events.
Bubble bubble(const trace::Trace& trace, const Clock& clock, int32_t rank, int32_t step,
              bool passes_only = false);
Bubble bubble(const trace::Trace& trace, const Clock& clock, int32_t rank, int32_t step, const Interval& span,
              bool passes_only = false);

/// The union of intervals: sorted, touching and overlapping ones joined, empty ones dropped.
std::vector<Interval> unite(std::vector<Interval> intervals);

/// What of `a` no interval of `b` covers. Both as unite() returns them; so is the result.
std::vector<Interval> subtract(const std::vector<Interval>& a, const std::vector<Interval>& b);

/// The sum of lengths.
int64_t total_ns(const std::vector<Interval>& intervals);

}  // namespace meshscope::time
