#pragma once

#include <source_location>

#include "core/trace/recorder.h"

namespace meshscope::trace::example {

/// Enters a collective that is what `draft` says; gives its id, or -1 where nothing is recorded.
inline int32_t enter(Recorder& recorder, const Event& draft, const Cause& cause,
                     const std::source_location& source = std::source_location::current()) {
    Event* const event = recorder.enter_collective(draft.stream, cause, source);
    if (event == nullptr) return -1;
    event->op = draft.op;
    event->reduce_op = draft.reduce_op;
    event->dtype = draft.dtype;
    event->group = draft.group;
    event->sequence = draft.sequence;
    event->peer = draft.peer;
    event->padding = draft.padding;
    event->in_elements = draft.in_elements;
    event->out_elements = draft.out_elements;
    return event->id;
}

}  // namespace meshscope::trace::example
