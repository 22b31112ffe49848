#include "app/cli/run_command.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "app/cli/divergence.h"
#include "app/cli/line_at_once.h"
#include "app/cli/outputs.h"
#include "app/cli/parts_left.h"
#include "app/cli/run_json.h"
#include "app/cli/run_progress.h"
#include "app/cli/run_tell.h"
#include "app/cli/run_totals.h"
#include "app/cli/self_start.h"
#include "app/cli/usage.h"
#include "app/launch/agent.h"
#include "backends/registry.h"
#include "core/base/error.h"
#include "core/base/one_process.h"
#include "core/base/replace_file.h"
#include "core/base/text.h"
#include "core/launch/placement.h"
#include "core/run/fit.h"
#include "core/run/merge.h"
#include "core/run/plan.h"
#include "core/scenario/words.h"
#include "core/trace/part_file.h"
#include "core/trace/recorded.h"
#include "core/trace/store.h"

namespace meshscope::cli {
namespace {

struct RunArguments {
    std::string scenario, backend, init_method, trace, json, save, level, resume, schedule, variant;
    int32_t max_restarts = 0, timeout_s = 0;
    bool quiet = false, checked = false, no_checked = false, force = false;
};

/// What the ranks appended while the run lasted, once the trace is written that holds it all.
void remove_parts(const RunArguments& options, const trace::Trace& trace) {
    trace::remove_parts(options.trace, trace.info.world_size);
}

/// A run that failed leaves what it had recorded, where it was asked for. A process that another one started
/// leaves its part to that one; of processes that somebody else started rank 0 alone writes, its own part.
void write_partial(const RunArguments& options, const launch::Placement& placement, const trace::Trace& trace,
                   CommandContext& context) {
    const std::string own = context.environment(kOwnFolderVariable);
    if (own.empty() && placement.rank != 0) return;
    try {
        if (!own.empty()) return trace::write_trace(trace, part_file(own, placement.round, placement.rank));
        if (backends::has_processes(
                trace.info.backend)) {  // one rank's record, and its losses are not the run's
            trace::Trace alone = trace;
            std::vector<int32_t> others = trace.info.mesh_ranks;
            std::erase(others, placement.rank);
            run::mark_unrecorded(alone.info, others);
            trace::write_trace(alone, options.trace);
        } else {
            trace::write_trace(trace, options.trace);
        }
        if (!options.quiet) context.err << context.text("cli.run.partial", {{"path", options.trace}}) << '\n';
        if (!backends::has_processes(trace.info.backend))
            remove_parts(options, trace);
        else if (!options.quiet)  // each process has its own record, and this one could not get the others'
            tell_parts_left(options.trace, context);
    } catch (const Error& error) {  // the run's own failure is the one that is reported
        context.err << "meshscope: " << context.text(error.message()) << '\n';
    }
}

void write_outputs(const RunArguments& options, const run::RunResult& result, CommandContext& context) {
    std::vector<std::string> written;
    if (!options.trace.empty()) {
        try {
            trace::write_trace(*result.trace, options.trace);
        } catch (const IoError&) {  // what was recorded is not lost with it
            tell_parts_left(options.trace, context);
            throw;
        }
        remove_parts(options, *result.trace);
        written.push_back(options.trace);
    }
    if (!options.save.empty() && !save_was_refused(result, options.save)) {
        save_parameters(result, options.save);
        written.push_back(options.save);
    }
    if (options.json == "-") {
        context.out << run_json(result);
    } else if (!options.json.empty()) {
        replace_file(options.json, run_json(result));
        written.push_back(options.json);
    }
    if (options.quiet) return;
    for (const std::string& path : written)
        context.err << context.text("cli.run.written", {{"path", path}}) << '\n';
}

/// What was asked for; else what fits: the scenario's, threads, or inside a launcher processes that find each
/// other its way.
std::string choose_backend(const RunArguments& options, const launch::Placement& placement,
                           const scenario::Scenario& scenario) {
    using launch::Launcher;
    const bool mpi = placement.launcher == Launcher::openmpi || placement.launcher == Launcher::mpich;
    if (options.backend.empty()) {
        if (placement.launcher == Launcher::none || placement.world_size == 1)
            return run::backend_of(scenario, {});
        return mpi ? "mpi" : "tcp";
    }
    refuse_threads_in_launcher(options.backend, scenario::world_size(scenario), placement);
    return options.backend;
}

/// Refuses options that the chosen backend would leave aside. One process of a launcher has nobody to meet
/// and to wait for, and may be given them all the same: how many there are is the launcher's to say. `own`:
/// another `run` started this process, with its own options.
void refuse_foreign_options(const RunArguments& options, const std::string& backend,
                            const launch::Placement& placement, bool own) {
    if (options.max_restarts > 0 && placement.launcher != launch::Launcher::none && !own)
        throw UsageError({"cli.run.restarts_in_launcher", {{"launcher", launch::launcher_name(placement)}}});
    if (options.backend.empty() && placement.launcher != launch::Launcher::none && placement.world_size == 1)
        return;
    const auto refuse = [&](const char* option, const char* backends) {
        throw UsageError(
            {"cli.run.option_not_for",
             {{"option", std::string(option)}, {"backend", backend}, {"backends", std::string(backends)}}});
    };
    const bool meets = backend == "tcp" || backend == "nccl";
    if (!options.init_method.empty() && !meets) refuse("--init-method", "tcp, nccl");
    if (!options.schedule.empty() && !is_of_one_process(backend)) refuse("--schedule", "threads, fibers");
    constexpr const char* kWithProcesses = "tcp, nccl, mpi, mpi-openmpi, mpi-mpich";
    if (backends::has_processes(backend)) return;
    if (options.timeout_s > 0) refuse("--timeout", kWithProcesses);
    if (options.max_restarts > 0) refuse("--max-restarts", kWithProcesses);
}

/// The scenario as its file has it, or as one of its variants changes it.
struct Wanted {
    scenario::Scenario scenario;
    std::string ends;  ///< the error that the variant says it ends with; "": none
};

Wanted read_wanted(const RunArguments& options) {
    scenario::Scenario scenario = scenario::read_scenario(options.scenario);
    if (options.variant.empty()) return {std::move(scenario), ""};
    std::string known;
    for (const scenario::Variant& variant : scenario.variants) {
        if (variant.id == options.variant)
            return {scenario::changed_scenario(scenario, variant), variant.ends};
        known += (known.empty() ? "" : ", ") + variant.id;
    }
    if (known.empty()) throw UsageError({"cli.run.no_variants", {{"variant", options.variant}}});
    throw UsageError({"cli.run.no_variant", {{"variant", options.variant}, {"known", known}}});
}

/// A process that was started again goes on from the newest checkpoint, where the scenario saves any.
std::string resume_of(const RunArguments& options, const launch::Placement& placement,
                      const CommandContext& context) {
    if (!options.resume.empty()) return options.resume;
    const bool again =
        placement.round > 0 || context.environment(launch::kResumeVariable) == run::kResumeAuto;
    return again ? run::kResumeAuto : "";
}

void tell_checks(const scenario::Scenario& scenario, const run::RunResult& result, bool talks,
                 CommandContext& context) {
    const auto checks = scenario::run_checks(scenario, trace::TraceDatabase(*result.trace));
    // Failed checks are told even by --quiet: they are why the exit code is 1.
    std::vector<scenario::CheckResult> shown;
    for (const auto& check : checks)
        if (talks || !check.passed) shown.push_back(check);
    if (!print_checks(shown, context)) context.exit_code = ExitCode::check_failed;
}

/// --level, else the scenario's.
trace::Level level_of(const RunArguments& options, const scenario::Scenario& scenario) {
    if (options.level.empty()) return scenario.level;
    const auto words = scenario::levels();
    return static_cast<trace::Level>(std::find(words.begin(), words.end(), options.level) - words.begin());
}

/// How this process runs the scenario, and what it tells meanwhile.
run::RunOptions run_options_of(const RunArguments& options, const std::string& backend,
                               const launch::Placement& placement, const scenario::Scenario& scenario,
                               CommandContext& context) {
    run::RunOptions made;
    made.backend = backend;
    made.init_method = options.init_method;
    made.timeout = std::chrono::seconds(options.timeout_s);
    made.tell = [&context](const Message& message) {
        write_line_at_once(STDERR_FILENO, "meshscope: " + printable(context.text(message), ""));
    };
    made.resume = resume_of(options, placement, context);
    made.round = placement.round;
    const std::string own = context.environment(kOwnFolderVariable);
    // Of processes that another `run` started that one has looked.
    made.force = options.force || !own.empty();
    made.ranks_here = placement.local_world_size;
    made.library_bytes = backends::mapped_bytes(backend);
    if (placement.rank == 0 && !options.quiet)
        made.resumed = [&context](const std::string& checkpoint, int32_t steps) {
            context.err << context.text("cli.run.resumed", {{"path", checkpoint}, {"steps", int64_t{steps}}})
                        << '\n';
        };
    if (options.checked || options.no_checked) made.checked = options.checked;
    made.schedule = options.schedule;
    made.parts = options.trace;
    if (!own.empty()) made.temporary_folder = own + "/checkpoints";
    if (!options.trace.empty())
        made.on_failure = [&options, placement, &context](const std::shared_ptr<const trace::Trace>& trace) {
            write_partial(options, placement, *trace, context);
        };
    if (!options.level.empty()) made.level = level_of(options, scenario);
    return made;
}

/// What a run that ended is told as, and its exit code.
void tell_result(const RunArguments& options, const scenario::Scenario& scenario,
                 const run::RunResult& result, CommandContext& context) {
    write_outputs(options, result, context);
    const bool talks = !options.quiet && options.json != "-";
    if (talks) {
        print_losses(*result.trace, context, result.evaluations);
        context.out << run_totals(result, context) << '\n';
    }
    // Told even by --quiet, as what follows: nobody may take it for a run on a GPU.
    if (result.trace->info.backend.ends_with("-stand-in"))
        context.err << "meshscope: " << context.text("cli.run.stand_in") << '\n';
    // Nor may anybody take such a run for a trained model.
    const bool cancelled = result.trace->info.steps < scenario.steps;
    const bool expected = scenario.expects_divergence;
    if (result.not_finite)
        tell_divergence(result, options.save, expected || cancelled, context);
    else if (expected && !cancelled)
        context.err << "meshscope: " << context.text("cli.run.no_divergence") << '\n';
    if (cancelled) {
        context.err << context.text("cli.run.cancelled", {{"steps", int64_t{result.trace->info.steps}},
                                                          {"asked", int64_t{scenario.steps}}})
                    << '\n';
        context.exit_code = ExitCode::interrupted;
        return;
    }
    if (expected && !result.not_finite) context.exit_code = ExitCode::check_failed;
    if (!scenario.checks.empty()) tell_checks(scenario, result, talks, context);
    throw_divergence(result, options.save, expected, context);
}

void run_command(const RunArguments& options, CommandContext& context) {
    context.json_errors = options.json == "-";
    context.json_errors_aside = !options.json.empty() && !context.json_errors;
    const auto [scenario, ends] = read_wanted(options);
    const launch::Placement placement = launch::find_placement(context.environment);
    const std::string backend = choose_backend(options, placement, scenario);
    refuse_foreign_options(options, backend, placement, !context.environment(kOwnFolderVariable).empty());
    refuse_bad_schedule(options.schedule);
    refuse_bad_init_method(options.init_method);
    // Files are rank 0's; on other machines their folders need not be there.
    if (placement.rank == 0) {
        check_outputs({{options.trace, FileKind::trace},
                       {options.json, FileKind::json},
                       {options.save, FileKind::safetensors}},
                      inputs_of(scenario), options.force);
        // A variant that is to show a save that fails is let come to it.
        if (ends != "checkpoint.save_failed") check_checkpoint_folder(scenario);
    }
    if (backends::has_processes(backend) && placement.launcher == launch::Launcher::none) {
        backends::require_built(backend, context.environment);
        if (!options.force)
            run::require_fit(scenario, {backend, scenario::world_size(scenario), level_of(options, scenario),
                                        backends::mapped_bytes(backend)});
        return run_in_own_processes(backend, scenario::world_size(scenario), options.max_restarts,
                                    options.trace, !options.quiet, options.force, context);
    }
    if (backends::has_processes(backend) && placement.rank == 0 && !options.quiet &&
        context.environment(kQuietErrorsVariable).empty())
        context.err << context.text("cli.run.placed", {{"launcher", launch::launcher_name(placement)},
                                                       {"world_size", int64_t{placement.world_size}},
                                                       {"backend", backend}})
                    << '\n';
    const run::RunOptions run_options = run_options_of(options, backend, placement, scenario, context);
    const std::string& schedule = options.schedule.empty() ? scenario.schedule : options.schedule;
    if (!schedule.empty() && is_of_one_process(backend) && !options.quiet)
        context.err << context.text("cli.run.schedule", {{"schedule", schedule}}) << '\n';
    const Polling polling(context);  // up to the last file: a signal while they are written must not cut them
    const run::RunResult result = run_with_progress(scenario, context, run_options, options.quiet);
    if (result.part_failure)
        context.err << "meshscope: "
                    << context.text("cli.run.part_failed", {{"failure", context.text(*result.part_failure)}})
                    << '\n';
    if (result.here) tell_result(options, scenario, result, context);  // else rank 0 tells
}

}  // namespace

void add_run_command(CLI::App& app, CommandContext& context) {
    CLI::App* command = app.add_subcommand("run", context.text("cli.run.about"));
    command->footer(context.text("cli.run.examples"));
    auto options = std::make_shared<RunArguments>();
    command->add_option("SCENARIO", options->scenario, context.text("cli.run.help.scenario"))->required();
    command->add_option("--backend", options->backend, context.text("cli.run.help.backend"))
        ->type_name("NAME");
    command->add_option("--trace", options->trace, context.text("cli.run.help.trace"))->type_name("FILE");
    command->add_option("--json", options->json, context.text("cli.run.help.json"))->type_name("FILE");
    command->add_option("--save", options->save, context.text("cli.run.help.save"))->type_name("FILE");
    command->add_option("--level", options->level, context.text("cli.run.help.level"))
        ->check(CLI::IsMember({"off", "collectives", "hops", "values"}))
        ->type_name("");
    command->add_option("--resume", options->resume, context.text("cli.run.help.resume"))
        ->type_name("FOLDER");
    CLI::Option* checked =
        command->add_flag("--checked", options->checked, context.text("cli.run.help.checked"));
    command->add_flag("--no-checked", options->no_checked, context.text("cli.run.help.no_checked"))
        ->excludes(checked);
    command->add_option("--schedule", options->schedule, context.text("cli.run.help.schedule"))
        ->type_name("ORDER");
    command->add_option("--variant", options->variant, context.text("cli.run.help.variant"))->type_name("ID");
    command->add_option("--init-method", options->init_method, context.text("cli.run.help.init_method"))
        ->type_name("URL");
    command->add_option("--timeout", options->timeout_s, context.text("cli.run.help.timeout"))
        ->check(CLI::Range(1, 86400))
        ->type_name("SECONDS");
    command->add_option("--max-restarts", options->max_restarts, context.text("cli.run.help.max_restarts"))
        ->check(CLI::Range(0, 1000000))
        ->type_name("K");
    command->add_flag("--force", options->force, context.text("cli.run.help.force"));
    command->add_flag("-q,--quiet", options->quiet, context.text("cli.run.help.quiet"));
    command->callback([options, command, &context] {
        refuse_empty_values(*command);  // neither begin anew nor lose what was to be kept
        run_command(*options, context);
    });
}

}  // namespace meshscope::cli
