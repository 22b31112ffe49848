#pragma once

#include <cstdint>
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
/// neighbouring step too. Throws InvalidArgument ("time.no_rank"). Cost: a sort of the rank's events.
Overlap overlap(const trace::Trace& trace, const Clock& clock, int32_t rank, int32_t step = -2);

/// The union of intervals: sorted, touching and overlapping ones joined, empty ones dropped.
std::vector<Interval> unite(std::vector<Interval> intervals);

/// What of `a` no interval of `b` covers. Both as unite() returns them; so is the result.
std::vector<Interval> subtract(const std::vector<Interval>& a, const std::vector<Interval>& b);

/// The sum of lengths.
int64_t total_ns(const std::vector<Interval>& intervals);

}  // namespace meshscope::time
