#pragma once

#include <string>

#include "core/trace/trace.h"

namespace meshscope::test {

/// The first collective that the members of its group do not agree on (who takes part, op, reduction, dtype,
/// elements, peers), as text; the first group that is not the mesh's (row-major ranks that differ in one
/// coordinate); "" where all is well.
std::string groups_that_disagree(const trace::Trace& trace);

/// The first collective whose hops, as their receivers recorded them, carry other bytes from a rank than that
/// rank's event says it sent; of a trace with hops. "" where all add up.
std::string bytes_that_differ(const trace::Trace& trace);

/// What is alive after a step's last change and should not be: anything but parameters, the optimizer's state
/// and DDP's buckets, or other bytes than after the step before (from the second on: the first makes the
/// optimizer's state, the second DDP's buckets). "" where nothing is.
std::string memory_left_over(const trace::Trace& trace);

}  // namespace meshscope::test
