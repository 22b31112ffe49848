#pragma once

#include "core/trace/trace.h"

namespace meshscope::run {

/// Plain calls run dry meet nobody. So they are walked through here, from the record of all ranks:
/// collectives of a group meet in the order of their issue, a send that waits meets its recv, an eager one is
/// passed at once. Throws the DiagnosedError that a checked run on threads ends with where the ranks make
/// different calls (DiagnosisKind::mismatch), wait for each other in a ring (deadlock), or for one that has
/// ended (missing). Cost: linear in the events, times the members of each collective.
void check_dry_calls(const trace::Trace& trace);

}  // namespace meshscope::run
