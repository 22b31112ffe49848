#include "core/launch/placement.h"

#include <map>

#include "core/base/error.h"
#include "tests/test.h"

using namespace meshscope;
using namespace meshscope::launch;

namespace {

using Variables = std::map<std::string, std::string>;

Placement find(const Variables& variables) {
    return find_placement([&](const char* variable) {
        const auto found = variables.find(variable);
        return found == variables.end() ? std::string() : found->second;
    });
}

/// Launcher, rank/size, local rank/size, node, master, as one line; or the mistakes.
std::string told(const Variables& variables) {
    try {
        const Placement p = find(variables);
        return std::string(name(p.launcher)) + " " + std::to_string(p.rank) + "/" +
               std::to_string(p.world_size) + " " + std::to_string(p.local_rank) + "/" +
               std::to_string(p.local_world_size) + " node " + std::to_string(p.node_rank) +
               (p.master_addr.empty() ? "" : " " + p.master_addr + ":") +
               (p.master_port ? std::to_string(p.master_port) : "");
    } catch (const InputError& error) {
        std::string all;
        for (const Diagnostic& d : error.diagnostics())
            all += (all.empty() ? "" : "; ") + describe(d.message);
        return all;
    }
}

const Variables kOpenMpi{{"OMPI_COMM_WORLD_RANK", "2"},
                         {"OMPI_COMM_WORLD_SIZE", "4"},
                         {"OMPI_COMM_WORLD_LOCAL_RANK", "0"},
                         {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"}};
const Variables kSlurm{{"SLURM_PROCID", "5"},  {"SLURM_STEP_NUM_TASKS", "8"}, {"SLURM_NTASKS", "16"},
                       {"SLURM_LOCALID", "1"}, {"SLURM_NODEID", "1"},         {"SLURM_STEP_ID", "0"}};

Variables operator+(Variables a, const Variables& b) {
    for (const auto& [key, value] : b) a[key] = value;
    return a;
}

}  // namespace

TEST_CASE("each launcher's variables say where a process stands, and whose they were") {
    const std::vector<std::pair<Variables, std::string>> table{
        {{}, " 0/1 0/0 node 0"},
        // torchrun: torch/distributed/elastic/agent/server/local_elastic_agent.py
        {{{"RANK", "3"},
          {"WORLD_SIZE", "4"},
          {"LOCAL_RANK", "1"},
          {"LOCAL_WORLD_SIZE", "2"},
          {"GROUP_RANK", "1"},
          {"MASTER_ADDR", "node0"},
          {"MASTER_PORT", "29400"}},
         "torchrun 3/4 1/2 node 1 node0:29400"},
        {{{"RANK", "0"}, {"WORLD_SIZE", "1"}}, "torchrun 0/1 0/0 node 0"},
        {kOpenMpi, "Open MPI 2/4 0/2 node 0"},
        {kOpenMpi + Variables{{"MASTER_ADDR", "a"}, {"MASTER_PORT", "1"}}, "Open MPI 2/4 0/2 node 0 a:1"},
        {{{"PMI_RANK", "1"}, {"PMI_SIZE", "2"}, {"MPI_LOCALRANKID", "1"}, {"MPI_LOCALNRANKS", "2"}},
         "MPICH 1/2 1/2 node 0"},
        {kSlurm, "Slurm 5/8 1/0 node 1"},
        {{{"SLURM_PROCID", "1"}, {"SLURM_NTASKS", "2"}, {"SLURM_STEP_ID", "3"}}, "Slurm 1/2 0/0 node 0"},
        // A batch script has Slurm's variables too, and is one process.
        {{{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "8"}, {"SLURM_JOB_ID", "7"}}, " 0/1 0/0 node 0"},
        // mpirun inside a batch job: Slurm started its daemons. torchrun under srun: Slurm started torchrun.
        {kOpenMpi + kSlurm, "Open MPI 2/4 0/2 node 0"},
        {kSlurm + Variables{{"RANK", "9"}, {"WORLD_SIZE", "16"}}, "torchrun 9/16 0/0 node 0"},
        // Both, and of one mind: PyTorch's words were made from the other's.
        {kOpenMpi + Variables{{"RANK", "2"}, {"WORLD_SIZE", "4"}}, "torchrun 2/4 0/0 node 0"},
        // What stands about without a rank means nothing.
        {{{"MASTER_ADDR", "x"}, {"LOCAL_RANK", "7"}}, " 0/1 0/0 node 0"},
    };
    for (const auto& [variables, expected] : table) CHECK(told(variables) == expected);
}

TEST_CASE("what does not fit together is refused, each mistake by itself") {
    const std::vector<std::pair<Variables, std::string>> table{
        {{{"RANK", "1"}}, "launch.incomplete(has=RANK, missing=WORLD_SIZE)"},
        {{{"WORLD_SIZE", "2"}}, "launch.incomplete(has=WORLD_SIZE, missing=RANK)"},
        {{{"OMPI_COMM_WORLD_RANK", "0"}},
         "launch.incomplete(has=OMPI_COMM_WORLD_RANK, missing=OMPI_COMM_WORLD_SIZE)"},
        {{{"RANK", "4"}, {"WORLD_SIZE", "4"}},
         "launch.rank_outside(rank_variable=RANK, rank=4, size_variable=WORLD_SIZE, size=4)"},
        {{{"RANK", "0"}, {"WORLD_SIZE", "4"}, {"LOCAL_RANK", "2"}, {"LOCAL_WORLD_SIZE", "2"}},
         "launch.rank_outside(rank_variable=LOCAL_RANK, rank=2, size_variable=LOCAL_WORLD_SIZE, size=2)"},
        {{{"RANK", "one"}, {"WORLD_SIZE", "4"}}, "launch.not_a_number(variable=RANK, value=one)"},
        {{{"RANK", "-1"}, {"WORLD_SIZE", "4"}}, "launch.not_a_number(variable=RANK, value=-1)"},
        {{{"RANK", "1 "}, {"WORLD_SIZE", "99999999999"}},
         "launch.not_a_number(variable=RANK, value=1 ); launch.not_a_number(variable=WORLD_SIZE, "
         "value=99999999999)"},
        {kOpenMpi + Variables{{"RANK", "1"}, {"WORLD_SIZE", "4"}},
         "launch.conflict(variable=RANK, value=1, other=OMPI_COMM_WORLD_RANK, other_value=2)"},
        {kOpenMpi + Variables{{"PMI_RANK", "3"}, {"PMI_SIZE", "8"}},
         "launch.conflict(variable=OMPI_COMM_WORLD_RANK, value=2, other=PMI_RANK, other_value=3); "
         "launch.conflict(variable=OMPI_COMM_WORLD_SIZE, value=4, other=PMI_SIZE, other_value=8)"},
        {{{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "x"}},
         "launch.incomplete(has=MASTER_ADDR, missing=MASTER_PORT)"},
        {{{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "x"}, {"MASTER_PORT", "70000"}},
         "launch.not_a_port(variable=MASTER_PORT, value=70000)"},
    };
    for (const auto& [variables, expected] : table) CHECK(told(variables) == expected);
}

TEST_CASE("ranks meet at the launcher's store, else at MASTER_PORT, or after it where PyTorch's store is") {
    const auto address = [](const Variables& more) {
        const Variables rank{{"RANK", "0"}, {"WORLD_SIZE", "2"}};
        try {
            return store_address(find(rank + more));
        } catch (const InvalidArgument& error) {
            return describe(error.message());
        }
    };
    const auto at = [](const char* port) { return Variables{{"MASTER_ADDR", "h"}, {"MASTER_PORT", port}}; };
    const Variables agent{{"TORCHELASTIC_USE_AGENT_STORE", "True"}};
    CHECK(address({}) == "");
    CHECK(address(at("65535")) == "h:65535");
    CHECK(address(at("29500") + agent) == "h:29501");
    CHECK(address(at("65534") + agent) == "h:65535");
    CHECK(address(at("65535") + agent) == "launch.no_port_after(launcher=torchrun, port=65535)");
    CHECK(address(at("65535") + agent + Variables{{"MESHSCOPE_STORE", "s:1"}}) == "s:1");
}

TEST_CASE("rounds, the launcher's store and torchrun's are told apart") {
    const Variables rank{{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "h"}, {"MASTER_PORT", "5"}};
    CHECK(find(rank).round == 0);
    CHECK_FALSE(find(rank).port_is_taken);
    const Placement torchrun = find(rank + Variables{{"TORCHELASTIC_RESTART_COUNT", "2"},
                                                     {"TORCHELASTIC_RUN_ID", "job"},
                                                     {"TORCHELASTIC_USE_AGENT_STORE", "True"}});
    CHECK(torchrun.round == 2);
    CHECK(torchrun.run_id == "job");
    CHECK(launcher_name(torchrun) == "torchrun");
    CHECK(torchrun.port_is_taken);
    const Placement ours = find(rank + Variables{{"TORCHELASTIC_RESTART_COUNT", "0"},
                                                 {"MESHSCOPE_ROUND", "3"},
                                                 {"MESHSCOPE_STORE", "h:5"},
                                                 {"TORCHELASTIC_USE_AGENT_STORE", "True"}});
    CHECK(ours.round == 3);
    CHECK(ours.store == "h:5");
    CHECK(launcher_name(ours) == "meshscope launch");
    CHECK_FALSE(ours.port_is_taken);
}
