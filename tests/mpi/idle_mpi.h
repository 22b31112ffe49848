#pragma once

#include "backends/mpi/module.h"

namespace meshscope::test {

/// An MPI that is none: its collectives end at once and do nothing, no message ever comes.
inline MeshscopeMpi idle_mpi() {
    MeshscopeMpi mpi{};
    mpi.abi = MESHSCOPE_MPI_ABI;
    mpi.group = [](MeshscopeMpiHandle, const int32_t*, int32_t, int32_t, MeshscopeMpiHandle* made) {
        made->bits = 1;
        return 0;
    };
    mpi.close = [](MeshscopeMpiHandle*) { return 0; };
    mpi.collective = [](MeshscopeMpiHandle, const MeshscopeMpiCall*, MeshscopeMpiHandle*) { return 0; };
    mpi.test = [](MeshscopeMpiHandle*, int32_t* done) {
        *done = 1;
        return 0;
    };
    mpi.probe = [](MeshscopeMpiHandle, int32_t, int32_t, MeshscopeMpiMessage*, int32_t* found) {
        *found = 0;
        return 0;
    };
    return mpi;
}

}  // namespace meshscope::test
