#pragma once

#include <chrono>
#include <cstdint>
#include <functional>

#include "backends/mpi/mpi_module.h"
#include "core/comm/long_waits.h"
#include "core/comm/transport.h"

namespace meshscope::backends::mpi {

/// One rank of a job that an MPI launcher started. Ranks are MPI's: run() runs the one of this process, and
/// returns when all bodies are over; or, where one failed, after five seconds. It throws the body's own error
/// when that was the first, else CommError "comm.aborted" (secondary) with the first one's words;
/// "mpi.timeout" {rank, missing, doing, waited_ms} when one receive or wait took longer than `timeout`.
///
/// MPI itself ends when the process does: in order when all bodies of the last run came to their end, else by
/// MPI_Abort with this process's exit code. Of a process that is killed MPI's launcher ends the whole job.
class MpiWorld final : public comm::World {
  public:
    enum class Threads : uint8_t {
        one,        ///< that of the rank's body alone: MPI_THREAD_SINGLE
        take_turns  ///< any, one at a time: MPI_THREAD_SERIALIZED
    };
    /// Starts MPI where that was not done. Throws InvalidArgument "mpi.wrong_world" {library, wanted, size}
    /// when the job has not as many ranks as wanted: it was started without mpiexec, by the other library's,
    /// or with another -n.
    /// `tell`: see comm::LongWaits; may be empty. `threads`: who will use the transport. MPI is started once
    /// a process, for what the first world says; where that was `one`, its transports say so.
    MpiWorld(const Library& library, int32_t size, std::chrono::milliseconds timeout = kLongestWait,
             comm::LongWaits::Tell tell = {}, Threads threads = Threads::take_turns);
    static constexpr std::chrono::milliseconds kLongestWait{300'000};

    int32_t size() const override { return job_.size; }
    void run(const std::function<void(comm::Transport&)>& body) override;
    bool whole() const override { return job_.size == 1; }
    int32_t ranks_on_this_machine() const override { return job_.ranks_here; }

  private:
    const MeshscopeMpi& mpi_;
    MeshscopeMpiJob job_{};
    std::chrono::milliseconds timeout_;
    comm::LongWaits::Tell tell_;
};

}  // namespace meshscope::backends::mpi
