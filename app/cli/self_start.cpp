#include "app/cli/self_start.h"

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <map>
#include <optional>
#include <ostream>
#include <utility>

#include "app/cli/finish_writing.h"
#include "app/cli/machine.h"
#include "app/cli/parts_left.h"
#include "backends/registry.h"
#include "core/base/cause.h"
#include "core/base/error.h"
#include "core/base/same_file.h"
#include "core/base/start_thread.h"
#include "core/base/temporary_folder.h"
#include "core/run/recover.h"
#include "core/trace/part_file.h"
#include "core/trace/store.h"

namespace meshscope::cli {
namespace {

/// mpiexec of the library that a backend means, and what it needs in a machine like this one. What it leaves
/// behind when it is killed lies in `folder` and, of shared memory, in `shared` ("" where it may choose).
void use_mpiexec(launch::LaunchOptions& options, const std::string& backend, int32_t ranks,
                 const std::string& folder, const std::string& shared, const CommandContext& context) {
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
    for (const auto& [variable, value] : std::vector<std::pair<const char*, std::string>>{
             {"OMPI_ALLOW_RUN_AS_ROOT", "1"},
             {"OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"},
             {"OMPI_MCA_rmaps_base_oversubscribe", "1"},
             {"OMPI_MCA_btl_vader_single_copy_mechanism", "none"},
             {"OMPI_MCA_btl", "self,vader,tcp"},
             {"OMPI_MCA_pml", "ob1"},
             {"OMPI_MCA_hwloc_base_binding_policy", "none"},
             {"OMPI_MCA_orte_execute_quiet", "1"},  // how the ranks ended is told by this process
             {"PMIX_MCA_gds", "hash"},
             {"OMPI_MCA_orte_tmpdir_base", folder},
             {"OMPI_MCA_btl_vader_backing_directory", shared}})
        if (context.environment(variable).empty() && !value.empty())
            options.environment.emplace_back(variable, value);
}

/// Whether mpiexec starts the processes, of which it does not tell who failed.
bool by_mpi(const std::string& backend) {
    return backend.starts_with("mpi");
}

/// The signal that ended a worker with this exit code, 0 for none. MPICH's mpiexec ends with the signal's own
/// number where Open MPI and shells add 128.
int killed_by(const std::string& backend, int exit_code) {
    if (exit_code > 128) return exit_code - 128;
    const bool own =
        exit_code <= static_cast<int>(ExitCode::usage) || exit_code >= static_cast<int>(ExitCode::bad_input);
    return !own && by_mpi(backend) && backends::mpi_library_of(backend) == "mpich" ? exit_code : 0;
}

/// What is said of a failure (launch::line_on): mpiexec does not tell whose it is.
Message line_of(const Message& line, const std::string& backend) {
    if (!by_mpi(backend)) return line;
    const std::optional<Message> cause = cause_in(line);
    if (!cause) return line;
    // What was only seen by a rank is not that rank's failure.
    return line.id == "launch.ended_first" ? *cause : with_cause({"launch.failed_under_mpiexec", {}}, *cause);
}

/// The trace of a run whose processes had no time to write it, from what they left step by step.
void write_recovered(const std::string& trace, bool talks, const CommandContext& context) {
    try {
        const run::Recovered recovered = run::recover(trace);
        trace::write_trace(recovered.trace, trace);
        trace::remove_parts(trace, recovered.trace.info.world_size);
        if (!talks) return;
        context.err << context.text("cli.run.interrupted_recovered",
                                    {{"path", trace}, {"steps", int64_t{recovered.trace.info.steps}}})
                    << '\n';
    } catch (const Error& error) {  // the run was interrupted: that remains what its exit code says
        context.err << "meshscope: " << context.text(error.message()) << '\n';
    }
}

/// The parts that the processes of the last start left, joined. A part that was being written when its
/// process was stopped is none.
std::shared_ptr<const trace::Trace> join_left(const std::string& folder, const launch::LaunchResult& launch,
                                              int32_t ranks) {
    std::map<int32_t, trace::Trace> parts;
    for (int32_t rank = 0; rank < ranks; ++rank) {
        const std::string file = part_file(folder, launch.restarts, rank);
        std::error_code error;
        if (!std::filesystem::exists(file, error)) continue;
        try {
            parts.emplace(rank, trace::read_trace(file));
        } catch (const Error&) {
            continue;
        }
    }
    if (parts.empty()) return nullptr;
    const auto told = std::ranges::find_if(launch.failures, [](const auto& f) { return !f.id.empty(); });
    return std::make_shared<const trace::Trace>(
        run::join_parts(std::move(parts), told == launch.failures.end() ? "" : told->id));
}

OwnProcessesEnded start_processes(const OwnProcesses& wanted, launch::Writer& talk,
                                  const CommandContext& context) {
    constexpr int64_t kHere = 4;  // the watchdog, the store's thread, two that write
    if (by_mpi(wanted.backend) && !wanted.force)
        require_threads(kHere + backends::threads_of_mpi(wanted.backend, wanted.ranks));
    const TemporaryFolder folder("meshscope-own");
    std::optional<TemporaryFolder> shared;
    launch::LaunchOptions options;
    options.folders = {folder.path()};
    options.command = {context.program_folder + "/meshscope"};
    options.command.insert(options.command.end(), wanted.arguments.begin(), wanted.arguments.end());
    options.meeting.workers = wanted.ranks;
    options.meeting.max_restarts = wanted.max_restarts;
    // Through mpiexec's own writing a reader who stops early would end the job.
    options.own_output = wanted.shows && !by_mpi(wanted.backend);
    options.environment = {{kQuietErrorsVariable, "1"}, {kOwnFolderVariable, folder.path()}};
    std::optional<Message> failed;  // told when it leads to a new start; the last one's the caller tells
    const auto say = [&](const Message& message) { talk.add("meshscope: " + context.text(message) + '\n'); };
    if (wanted.shows)
        options.tell = [&](const Message& message) {
            if (message.id == "launch.failed" || message.id == "launch.ended_first")
                failed = line_of(message, wanted.backend);
            if (message.id == "launch.restarts" && failed) say(*std::exchange(failed, std::nullopt));
            if (message.id == "launch.restarts" || message.id == "launch.starter_stuck" ||
                message.id == "launch.starter_idle" || message.id.starts_with("tcp."))
                say(message);
        };
    options.signal = [&] { return context.cancelled && *context.cancelled ? SIGINT : 0; };
    if (by_mpi(wanted.backend)) {
        try {
            shared.emplace("meshscope-own", "/dev/shm");
            options.folders.push_back(shared->path());
        } catch (const IoError&) {
            // Where no shared memory can be had there, Open MPI finds another place.
        }
        use_mpiexec(options, wanted.backend, wanted.ranks, folder.path(), shared ? shared->path() : "",
                    context);
    }
    const Polling polling(context);
    context.out.exceptions(std::ios::goodbit);  // a Writer's thread could not tell of a failed write so
    std::ostream nothing(nullptr);
    launch::Writer nobody_sees(nothing);  // what is shown the processes write themselves, but for mpiexec's
    launch::Writer out(wanted.collects != nullptr ? *wanted.collects : wanted.shows ? context.out : nothing);
    launch::Writer& shown_err = is_same_file("/dev/stdout", "/dev/stderr") ? out : talk;
    options.prefixes = false;
    OwnProcessesEnded ended;
    try {
        ended.launch = launch::launch_workers(options, out, wanted.shows ? shown_err : nobody_sees);
    } catch (...) {
        finish_writing(out, context);
        throw;
    }
    finish_writing(out, context);
    if (!ended.launch.failures.empty()) ended.partial = join_left(folder.path(), ended.launch, wanted.ranks);
    return ended;
}

}  // namespace

std::string part_file(const std::string& own_folder, int32_t round, int32_t rank) {
    return own_folder + "/part-" + std::to_string(round) + "-" + std::to_string(rank) + ".mscope";
}

Message failure_line(const launch::Failure& failure, const Message& cause, const std::string& backend) {
    return line_of(launch::line_on(failure, cause), backend);
}

OwnProcessesEnded start_processes(const OwnProcesses& wanted, const CommandContext& context) {
    launch::Writer talk(context.err);
    try {
        OwnProcessesEnded ended = start_processes(wanted, talk, context);
        finish_writing(talk, context);
        return ended;
    } catch (...) {
        finish_writing(talk, context);
        throw;
    }
}

void run_in_own_processes(const std::string& backend, int32_t ranks, int32_t max_restarts,
                          const std::string& trace, bool talks, bool force, CommandContext& context) {
    const auto [result, partial] = start_processes({.backend = backend,
                                                    .ranks = ranks,
                                                    .max_restarts = max_restarts,
                                                    .arguments = context.arguments,
                                                    .force = force},
                                                   context);
    context.exit_code = static_cast<ExitCode>(result.exit_code);
    if (result.failures.empty()) {
        // Of a run that was told to stop rank 0 has told what it wrote, unless it was not given the time.
        if (result.exit_code <= 128 || trace.empty()) return;
        std::error_code error;
        if (trace::has_parts(trace, ranks))
            write_recovered(trace, talks, context);
        else if (talks && !std::filesystem::exists(trace, error))
            context.err << context.text("cli.run.interrupted_early") << '\n';
        return;
    }
    if (partial && !trace.empty()) {
        trace::write_trace(*partial, trace);
        if (talks) context.err << context.text("cli.run.partial", {{"path", trace}}) << '\n';
    }
    // Who was killed left its steps there, and nothing else; under mpiexec all ranks are.
    if (talks) tell_parts_left(trace, context);
    const launch::Failure& root = result.failures.front();
    // Rank 0 had written to who has enough by now (`| head`).
    if (root.id.empty() && context.exit_code == ExitCode::reader_gone) return;
    if (root.id == launch::kStarterKilled) {
        const CommError killed(with_cause({root.id, {}}, launch::ended_by_signal(root.exit_code - 128)),
                               GlobalRank{root.rank});
        context.err << "meshscope: " << context.text(killed.message()) << '\n';
        if (context.json_errors) context.out << context.describe(killed).json << '\n';
        context.exit_code = ExitCode::peer_lost;
        return;
    }
    const int signal = root.id.empty() ? killed_by(backend, root.exit_code) : 0;
    // A failed check is no failure of a process; rank 0 has told it.
    if (root.id.empty() && signal == 0) return;
    const Message cause = signal != 0 ? launch::ended_by_signal(signal) : launch::last_words(root);
    context.err << "meshscope: " << context.text(root.id.empty() ? failure_line(root, cause, backend) : cause)
                << '\n';
    // Who was killed said nothing; what a peer saw of it names the rank, its call and the line. Who saw
    // something else first, or was only told that somebody failed, would contradict that.
    const auto told = std::ranges::find_if(result.failures, [&](const auto& each) {
        return !each.json.empty() && (signal == 0 || launch::tells_of_loss(each, root.rank));
    });
    if (signal != 0 && told != result.failures.end()) context.err << "meshscope: " << told->text << '\n';
    // Rank 0 has written JSON that says itself that the numbers are not finite.
    if (root.id.starts_with("run.not_finite")) return;
    if (context.json_errors)
        context.out << (told != result.failures.end()
                            ? told->json
                            : i18n::describe_error(
                                  CommError(failure_line(root, cause, backend), GlobalRank{root.rank}),
                                  context.catalogue, context.language)
                                  .json)
                    << '\n';
    // Whoever was killed took a peer from all others.
    if (signal != 0 && signal != SIGINT) context.exit_code = ExitCode::peer_lost;
}

}  // namespace meshscope::cli
