#pragma once

#include "core/trace/trace.h"

namespace meshscope::trace {

/// Names the pieces of Bruck's hops in a valid trace of schema 1 or 2, which named the first alone: of an
/// all_gather a range that goes on at the buffer's beginning, of an all_to_all the slots with the round's
/// bit. Cost: one pass over the hops.
void name_old_pieces(Trace& trace);

}  // namespace meshscope::trace
