#pragma once

#include "core/trace/trace.h"

namespace meshscope::trace {

/// Holds every rule a Trace must obey so that whoever reads it need not look again: ids are positions, every
/// index points at something, every enumerator has a name, lists are in order, times do not run backwards.
///
/// Throws InvalidArgument "trace.invalid" {table, rank, index, field} at the first offence (rank -1: none).
/// Cost: one pass.
void validate(const Trace& trace);

}  // namespace meshscope::trace
