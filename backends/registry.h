#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/message.h"
#include "core/launch/placement.h"
#include "core/run/run.h"

namespace meshscope::backends {

/// Every backend of this build, by name: "threads", "fibers", "tcp", "cuda", and where the MPI libraries were
/// there at build time "mpi", "mpi-openmpi", "mpi-mpich". "cuda" is in every build, and says when it is
/// opened what is missing: the CUDA module (or another one, by MESHSCOPE_CUDA_MODULE in `environment`: the
/// stand-in), the driver, a device. So is "nccl", one process a rank, which may lack the NCCL module or NCCL
/// as well. MESHSCOPE_TF32=1 lets GPUs multiply in TF32. `stopped`: whether this process was told to stop,
/// asked while ranks over TCP wait for each other; then they throw Cancelled.
///
/// open() throws InvalidArgument: "backend.not_built" for a name that other builds may have,
/// "backend.unknown" for any other; both with the possible names. Backends whose ranks are processes take
/// this process's place from `environment`, and throw what find_placement and their worlds throw. "mpi" is
/// the library whose mpiexec started this process, else the first that is there.
std::unique_ptr<run::Backends> make_registry(launch::Environment environment = {},
                                             std::function<bool()> stopped = {});

/// Whether a backend's ranks are processes, so that a run outside a launcher must start them first. Also of a
/// name as a record has it ("nccl-stand-in").
bool has_processes(const std::string& name);

/// Throws InvalidArgument "backend.not_built", "backend.unknown" unless this build has it; of "nccl" also
/// what this machine lacks, as open() would, so that it is said once and not by each process.
void require_built(const std::string& name, const launch::Environment& environment = {});

/// What the runs of a window are made on: "" (what the scenario says, else threads), or a page's one backend.
std::string window_backend();

/// "openmpi" or "mpich": the library that "mpi" (the first that was built), "mpi-openmpi" or "mpi-mpich"
/// means.
std::string mpi_library_of(const std::string& name);

/// What a backend's library maps in each process, roughly; 0 where it has none, or it is not known.
int64_t mapped_bytes(const std::string& name);

/// How many processes and threads mpiexec and its ranks are; 0 of other backends, which say themselves where
/// they may not start one.
int64_t threads_of_mpi(const std::string& name, int32_t ranks);

/// What may stand in the way of a backend on this machine, for `doctor`.
struct BackendState {
    std::string name;
    bool built = false;
    std::string library;  ///< "Open MPI v4.1.4, …"; empty where there is none, or it cannot be loaded
    std::string package;  ///< what to install, where it was not built; Debian's names
    std::optional<Message> fault;  ///< why what was built cannot be loaded here
};
std::vector<BackendState> backend_states();

}  // namespace meshscope::backends
