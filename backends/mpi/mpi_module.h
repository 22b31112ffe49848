#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "backends/mpi/module.h"

namespace meshscope::backends::mpi {

/// An MPI library for which this build has a module.
struct Library {
    std::string word;     ///< "openmpi" or "mpich"
    std::string title;    ///< "Open MPI"
    std::string package;  ///< Debian's, for who lacks it
    std::string path;     ///< of the module; "" when it was not built
    /// What a rank maps for it, roughly; as measured with two.
    int64_t mapped_bytes = 0;
    /// Processes and threads: of mpiexec, and of a rank. Where they are not allowed it waits in silence.
    int32_t threads_of_mpiexec = 0, threads_of_rank = 0;
};

/// Both libraries, Open MPI first; looks beside the program, in ../lib and where the build put them. Cost: a
/// few file look-ups.
std::vector<Library> libraries();

/// Loads a module and with it the MPI library; both stay until the process ends. Throws InvalidArgument
/// "mpi.cannot_load" {library, reason}, "mpi.not_built" {library, package}, std::bad_alloc where it cannot be
/// mapped: short of addresses it would end the process in its own way.
const MeshscopeMpi& load(const Library& library);

/// Throws InvalidArgument "mpi.failed" {call, reason} unless code is 0.
void check(const MeshscopeMpi& mpi, int code, const char* call);

}  // namespace meshscope::backends::mpi
