#include "core/time/step.h"

#include <algorithm>

namespace meshscope::time {

Interval counted_span(const Interval& span, int64_t before_end_ns) {
    return {std::clamp(before_end_ns, span.begin_ns, span.end_ns), span.end_ns};
}

Interval counted_span(const trace::Trace& trace, const Clock& clock, int32_t step) {
    const int64_t before = step > 0 ? span_of_step(trace, clock, step - 1).end_ns : 0;
    return counted_span(span_of_step(trace, clock, step), before);
}

int64_t step_ns(const trace::Trace& trace, const Clock& clock, int32_t step) {
    const Interval counted = counted_span(trace, clock, step);
    return counted.end_ns - counted.begin_ns;
}

}  // namespace meshscope::time
