#include "app/cli/self_start.h"

#include <csignal>
#include <ostream>

#include "app/cli/machine.h"
#include "app/launch/agent.h"
#include "backends/registry.h"
#include "core/base/error.h"

namespace meshscope::cli {
namespace {

/// mpiexec of the library that a backend means, and what it needs in a machine like this one.
void use_mpiexec(launch::LaunchOptions& options, const std::string& backend, int32_t ranks,
                 const CommandContext& context) {
    const std::string library = backends::mpi_library_of(backend);
    std::string program = find_program("mpiexec." + library, context.environment("PATH"));
    if (program.empty() && backend == "mpi") program = find_program("mpiexec", context.environment("PATH"));
    if (program.empty()) throw InvalidArgument({"launch.no_mpiexec", {{"program", "mpiexec." + library}}});
    std::vector<std::string> words{program, "-n", std::to_string(ranks)};
    words.insert(words.end(), options.command.begin(), options.command.end());
    options.command = std::move(words);
    options.meeting.workers = 1;
    options.starter = {library == "openmpi" ? "OMPI_COMM_WORLD_RANK" : "PMI_RANK", ranks};
    if (library != "openmpi") return;
    // Open MPI refuses root and more ranks than cores unless told; and its shared memory tries what
    // containers forbid, loudly (open-mpi/ompi#4948).
    for (const auto& [variable, value] : std::vector<std::pair<const char*, const char*>>{
             {"OMPI_ALLOW_RUN_AS_ROOT", "1"},
             {"OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"},
             {"OMPI_MCA_rmaps_base_oversubscribe", "1"},
             {"OMPI_MCA_btl_vader_single_copy_mechanism", "none"},
             {"OMPI_MCA_btl", "self,vader,tcp"},
             {"OMPI_MCA_pml", "ob1"},
             {"OMPI_MCA_hwloc_base_binding_policy", "none"},
             {"PMIX_MCA_gds", "hash"}})
        if (context.environment(variable).empty()) options.environment.emplace_back(variable, value);
}

}  // namespace

void run_in_own_processes(const std::string& backend, int32_t ranks, int32_t max_restarts,
                          CommandContext& context) {
    launch::LaunchOptions options;
    options.command = {context.program_folder + "/meshscope"};
    options.command.insert(options.command.end(), context.arguments.begin(), context.arguments.end());
    options.meeting.workers = ranks;
    options.meeting.max_restarts = max_restarts;
    options.own_output = true;
    options.environment = {{kQuietErrorsVariable, "1"}};
    options.tell = [&](const Message& message) {
        if (message.id == "launch.restarts" || message.id == "launch.starter_stuck")
            context.err << "meshscope: " << context.text(message) << '\n';
    };
    options.signal = [&] { return context.cancelled && *context.cancelled ? SIGINT : 0; };
    const bool by_mpi = backend.starts_with("mpi");
    if (by_mpi) use_mpiexec(options, backend, ranks, context);
    const Polling polling(context);
    const launch::LaunchResult result = launch::launch_workers(options, context.out, context.err);
    context.exit_code = static_cast<ExitCode>(result.exit_code);
    if (result.failures.empty()) return;
    const launch::Failure& root = result.failures.front();
    // A failed check is no failure of a process; rank 0 has told it.
    if (root.id.empty() && root.exit_code < 128) return;
    const bool rank_known = !by_mpi;
    context.err << "meshscope: "
                << (root.id.empty() && rank_known
                        ? context.text("launch.failed", {{"rank", int64_t{root.rank}},
                                                         {"node", int64_t{root.node}},
                                                         {"code", int64_t{root.exit_code}},
                                                         {"text", root.text}})
                        : root.text)
                << '\n';
    if (context.json_errors && !root.json.empty()) context.out << root.json << '\n';
    // Whoever was killed took a peer from all others.
    if (root.exit_code > 128 && root.exit_code != 130) context.exit_code = ExitCode::peer_lost;
}

}  // namespace meshscope::cli
