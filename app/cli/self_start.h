#pragma once

#include <cstdint>
#include <string>

#include "app/cli/command.h"

namespace meshscope::cli {

/// Variable that says that the starting process tells the errors, once for all.
inline constexpr const char* kQuietErrorsVariable = "MESHSCOPE_QUIET_ERRORS";

/// Runs this very command line again in `ranks` processes on this machine that find each other: through the
/// store of this process for tcp, through the mpiexec of the right MPI for mpi, mpi-openmpi and mpi-mpich.
/// Returns when all have ended; rank 0 has written and printed what there is. A failed process stops all;
/// then they are started again, at most `max_restarts` times, going on from the newest checkpoint. Sets
/// context.exit_code; tells the root cause, once. Throws InvalidArgument "backend.not_built",
/// "launch.no_mpiexec" {program}.
void run_in_own_processes(const std::string& backend, int32_t ranks, int32_t max_restarts,
                          CommandContext& context);

}  // namespace meshscope::cli
