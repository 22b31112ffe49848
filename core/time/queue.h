#pragma once

#include <compare>
#include <cstdint>

#include "core/time/clock.h"

namespace meshscope::time {

/// One of a rank's queues: its events run one after the other, in order of issue.
struct Queue {
    Stream stream = Stream::compute;
    int32_t group = -1;  ///< on p2p of the modelled clock, where each group has its own; else -1
    friend auto operator<=>(const Queue&, const Queue&) = default;
};

/// The queue that modelled() plays an event in. Without `overlap` (Profile::overlap) all but sends and
/// receives share the compute stream's.
Queue played_queue(const trace::Event& event, bool overlap);

/// The queue in which an event stands on this clock: where times were recorded or simulated, the stream's,
/// whatever the group; else played_queue(). Cost: O(1).
Queue queue_of(const trace::Trace& trace, const Clock& clock, const trace::Event& event);

}  // namespace meshscope::time
