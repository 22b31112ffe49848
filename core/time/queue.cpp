#include "core/time/queue.h"

#include "core/trace/simulated.h"

namespace meshscope::time {

Queue played_queue(const trace::Event& event, bool overlap) {
    // A send that shared the queue could hold up the receive that its own receiver waits behind.
    if (!overlap && !(event.kind == trace::EventKind::collective && is_point_to_point(event.op)))
        return {Stream::compute, -1};
    // A ring's exchange does not stand behind a pipeline's receive, which waits for a neighbour.
    return {event.stream, event.stream == Stream::p2p ? event.group : -1};
}

Queue queue_of(const trace::Trace& trace, const Clock& clock, const trace::Event& event) {
    if (clock.kind == ClockKind::measured || trace::is_simulated(trace.info)) return {event.stream, -1};
    return played_queue(event, clock.overlap);
}

}  // namespace meshscope::time
