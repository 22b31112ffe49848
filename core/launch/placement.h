#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace meshscope::launch {

/// A variable of the environment by name; "" where it is not set.
using Environment = std::function<std::string(const char* name)>;

/// Who started this process and gave it its rank.
enum class Launcher : uint8_t {
    none,      ///< nobody: a program of its own
    torchrun,  ///< RANK, WORLD_SIZE …: torchrun, `meshscope launch`, or whoever sets PyTorch's variables
    openmpi,   ///< OMPI_COMM_WORLD_RANK …: mpiexec of Open MPI
    mpich,     ///< PMI_RANK …: mpiexec of MPICH (Hydra), srun --mpi=pmi2
    slurm      ///< SLURM_PROCID …: srun
};

/// "torchrun", "Open MPI", "MPICH", "Slurm"; "" for none.
const char* name(Launcher launcher);

/// Where this process stands in its job.
struct Placement {
    Launcher launcher = Launcher::none;
    int32_t rank = 0;
    int32_t world_size = 1;
    int32_t local_rank = 0;        ///< among the processes on this machine
    int32_t local_world_size = 0;  ///< 0: the launcher does not say
    int32_t node_rank = 0;
    std::string master_addr;  ///< where rank 0, or the launcher's store, can be reached; "" = nobody said
    int32_t master_port = 0;
    std::string store;   ///< MESHSCOPE_STORE, "host:port": the launcher's own store; "" = rank 0 serves one
    std::string run_id;  ///< TORCHELASTIC_RUN_ID
    /// How manyth time the job's processes were started: MESHSCOPE_ROUND of `meshscope launch`, else
    /// TORCHELASTIC_RESTART_COUNT, else 0.
    int32_t round = 0;
    /// torchrun's agent serves PyTorch's store at master_port, so ours cannot be there.
    bool port_is_taken = false;
};

/// "host:port" where the ranks' own store is, or is to be served by rank 0: the launcher's store, else
/// MASTER_ADDR at MASTER_PORT, or at the port after it where PyTorch's store has that one; "" = nobody said.
/// Throws InvalidArgument "launch.no_port_after" where there is no such port.
std::string store_address(const Placement& placement);

/// For messages: name(), but "meshscope launch" where that set torchrun's variables (it serves the store).
std::string launcher_name(const Placement& placement);

/// Reads the variables of PyTorch, Open MPI, MPICH and Slurm. Pure: sees nothing but `environment`.
///
/// PyTorch's count first, then the MPI launchers', then Slurm's. Slurm's count inside a step only
/// (SLURM_STEP_ID): a batch script itself has SLURM_PROCID=0 too. Beside another launcher's they are not
/// looked at: under mpirun in a batch job they say which daemon started the process.
///
/// Throws InputError with every mistake: "launch.incomplete" (one of two variables that belong together is
/// missing), "launch.not_a_number", "launch.rank_outside" (a rank that is not below its size),
/// "launch.conflict" (two launchers give different ranks or sizes).
Placement find_placement(const Environment& environment);

}  // namespace meshscope::launch
