#pragma once

#include <cstdint>
#include <iosfwd>
#include <memory>
#include <string>
#include <vector>

#include "app/cli/command.h"
#include "app/launch/agent.h"

namespace meshscope::cli {

/// Variable that says that the starting process tells the errors, once for all.
inline constexpr const char* kQuietErrorsVariable = "MESHSCOPE_QUIET_ERRORS";
/// Variable that names a folder which all processes of a start share and which is gone at its end: there each
/// leaves its part of the record when the run fails, and there temporary checkpoints lie.
inline constexpr const char* kOwnFolderVariable = "MESHSCOPE_OWN_FOLDER";

/// Where in that folder a rank leaves its part, in the how manyth start of the processes.
std::string part_file(const std::string& own_folder, int32_t round, int32_t rank);

/// What is started: `meshscope` with these words, once a rank.
struct OwnProcesses {
    std::string backend;
    int32_t ranks = 1;
    int32_t max_restarts = 0;
    std::vector<std::string> arguments = {};
    bool shows = true;  ///< they write where this process writes; else nobody sees what they write, but
    std::ostream* collects = nullptr;  ///< their standard output goes here, when it is not null
    bool force = false;                ///< also where the limit of processes seems too low for MPI's
};

struct OwnProcessesEnded {
    launch::LaunchResult launch;
    /// What the ranks of a run that failed had recorded, joined; null where none left anything.
    std::shared_ptr<const trace::Trace> partial;
};

/// Runs this program in processes on this machine that find each other: through the store of this process for
/// tcp, through the mpiexec of the right MPI for mpi, mpi-openmpi and mpi-mpich. Returns when all have ended.
/// A failed process stops all; then they are started again, at most `max_restarts` times, going on from the
/// newest checkpoint. Throws InvalidArgument "backend.not_built", "launch.no_mpiexec" {program}, Error
/// "error.too_few_threads", of MPI, which would wait in silence.
OwnProcessesEnded start_processes(const OwnProcesses& wanted, const CommandContext& context);

/// What is said of a failure of such processes: launch::line_on, but that mpiexec does not tell which rank's
/// it is.
Message failure_line(const launch::Failure& failure, const Message& cause, const std::string& backend);
inline Message failure_line(const launch::Failure& failure, const std::string& backend) {
    return failure_line(failure, launch::last_words(failure), backend);
}

/// Runs this very command line that way. Rank 0 has written and printed what there is; of a run that failed
/// `trace` (where it is not "") gets what all ranks had recorded. Sets context.exit_code; tells the root
/// cause, once, and with `talks` what was written.
void run_in_own_processes(const std::string& backend, int32_t ranks, int32_t max_restarts,
                          const std::string& trace, bool talks, bool force, CommandContext& context);

}  // namespace meshscope::cli
