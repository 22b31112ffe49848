#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <string>

namespace meshscope::launch {

/// How the processes are known that a worker (mpiexec) starts in its turn, one a rank, on this machine.
struct Starter {
    std::string rank_variable;  ///< "OMPI_COMM_WORLD_RANK": each finds its number there
    int32_t ranks = 0;
};

/// Those processes, looked at from outside: their starter alone waits for them, and it may fail in that.
/// (Open MPI's, PMIx 4.2.2, can lock an object that it has freed, and stand for ever, when a rank dies while
/// it starts.)
class StartedRanks {
  public:
    /// Of the processes whose environment holds `variable`=`value`. A look is not taken more often than once
    /// in `every`.
    StartedRanks(Starter starter, std::string variable, std::string value, std::chrono::milliseconds every);

    /// Looks, and gives for how long some have not been there though one had been: 0 while all run. They may
    /// have come and gone between two looks: where none was ever seen, it is for how long the process
    /// `starter` has not asked how a child of its own ended, which is the first thing to do then; or, counted
    /// half, for how long it has slept without any child: it may have to wait for the network first. Time in
    /// which this process did not look (it may have been stopped with all the others) counts as one look.
    /// Cost: reads /proc once until all have been seen, then a file a rank.
    std::chrono::milliseconds incomplete(pid_t starter);

    /// Whether the starter was without any child when it was looked at last, before one was ever there.
    bool is_idle() const { return is_idle_; }

    /// Sends a signal to all of them that run; false where not all have been seen yet: nobody has it then.
    bool send(int signal) const;

  private:
    using Clock = std::chrono::steady_clock;

    bool all_run() const;
    static bool runs(const std::pair<const pid_t, uint64_t>& seen);

    Starter starter_;
    std::string variable_, value_;
    std::chrono::milliseconds every_, incomplete_{0};
    Clock::time_point looked_ = Clock::now();
    bool is_idle_ = false;
    std::map<pid_t, uint64_t> seen_;  ///< with the time of their start, as a number may be used again
};

}  // namespace meshscope::launch
