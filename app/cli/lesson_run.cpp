#include "app/cli/lesson_run.h"

#include <algorithm>
#include <array>
#include <csignal>
#include <filesystem>
#include <string_view>

#include "app/cli/lesson_print.h"
#include "app/cli/run_progress.h"
#include "app/cli/self_start.h"
#include "backends/registry.h"
#include "core/base/diagnosis.h"
#include "core/base/json_text.h"
#include "core/base/temporary_folder.h"
#include "core/launch/placement.h"
#include "core/run/fit.h"
#include "core/trace/store.h"

namespace meshscope::cli {
namespace {

using nlohmann::json;

/// What only who sees all waits can know.
bool is_exact_end(const std::string& ends) {
    return ends == "comm.deadlock" || ends.starts_with("diagnosis.stalled") || tells_of_missing(ends);
}

MessageValue value_of(const json& value) {
    if (value.is_string()) return value.get<std::string>();
    if (value.is_number_integer()) return value.get<int64_t>();
    if (value.is_number()) return value.get<double>();
    if (value.is_array() && std::ranges::all_of(value, [](const json& v) { return v.is_number_integer(); }))
        return value.get<std::vector<int64_t>>();
    return json_text(value);
}

Message message_of(const json& entry) {
    Message message{entry.value("id", std::string("launch.failed")), {}};
    const json args = entry.value("args", json::object());
    for (const auto& [name, value] : args.items()) message.args.push_back({name, value_of(value)});
    return message;
}

/// Where the scenario asked a rank to die, and that came: the diagnosis that threads give. Between processes
/// those who are left say only that a peer is gone; mpiexec ends all without a word, with 128 + the signal
/// (Open MPI) or the signal's number (MPICH), and does not say which rank it was.
std::exception_ptr asked_death(const scenario::Scenario& scenario, const launch::Failure& root) {
    const auto kill =
        std::ranges::find(scenario.faults, comm::FaultKind::kill, [](const auto& f) { return f.kind; });
    const bool killed = root.id.empty() && (root.exit_code == 128 + SIGKILL || root.exit_code == SIGKILL);
    if (kill == scenario.faults.end() || !(killed || root.id == "comm.peer_lost")) return nullptr;
    Diagnosis diagnosis;
    diagnosis.kind = DiagnosisKind::lost;
    diagnosis.culprits = {kill->rank};
    return std::make_exception_ptr(DiagnosedError(std::move(diagnosis), GlobalRank{root.rank}));
}

/// The error that a process listed in its last words. Throws json::exception for what none of ours writes.
std::exception_ptr listed_error(const json& errors, int32_t rank) {
    if (!errors.front().contains("file"))
        return std::make_exception_ptr(CommError(message_of(errors.front()), GlobalRank{rank}));
    std::vector<Diagnostic> mistakes;
    for (const json& entry : errors) {
        const auto number = [&](const char* key, auto otherwise) {
            return json_whole<decltype(otherwise)>(entry.value(key, json())).value_or(otherwise);
        };
        mistakes.push_back(
            {message_of(entry),
             {entry.value("file", ""), number("line", 0), number("column", 0), number("byte", int64_t{-1})},
             {}});
    }
    return std::make_exception_ptr(InputError(std::move(mistakes)));
}

/// What a process said of its end, as the error it was there.
std::exception_ptr error_of(const launch::Failure& failure, const std::string& backend) {
    try {
        const json errors = parse_json<json>(failure.json).at("errors");
        if (errors.is_array() && !errors.empty()) return listed_error(errors, failure.rank);
    } catch (const json::exception&) {  // it was killed, or is no program of ours
    }
    return std::make_exception_ptr(CommError(failure_line(failure, backend), GlobalRank{failure.rank}));
}

/// A scenario, or as its `variant` changes it, run by `meshscope run` in as many processes as it has ranks.
run::RunResult run_in_processes(const scenario::Scenario& scenario, const std::string& variant,
                                const std::string& backend, const CommandContext& context,
                                bool force = false) {
    if (launch::find_placement(context.environment).world_size > 1)
        throw UsageError({"cli.lesson.in_launcher", {{"backend", backend}}});
    backends::require_built(backend, context.environment);
    const TemporaryFolder folder("meshscope-lesson");
    const std::string file = folder.file("run.mscope");
    OwnProcesses wanted{
        .backend = backend, .ranks = scenario::world_size(scenario), .shows = false, .force = force};
    wanted.arguments = {"run", scenario.path, "--backend", backend, "--trace", file, "--quiet"};
    if (!variant.empty()) wanted.arguments.insert(wanted.arguments.end(), {"--variant", variant});
    if (!force)
        run::require_fit(scenario, {backend, wanted.ranks, scenario.level, backends::mapped_bytes(backend)});
    const OwnProcessesEnded ended = start_processes(wanted, context);
    if (context.cancelled && *context.cancelled) throw Cancelled({"cli.lesson.check_cancelled", {}});
    run::RunResult result;
    std::error_code missing;
    const bool diverged =
        !ended.launch.failures.empty() && ended.launch.failures.front().id.starts_with("run.not_finite");
    if (!diverged && std::filesystem::exists(file, missing)) {  // whole; its checks are asked here
        result.trace = std::make_shared<const trace::Trace>(trace::read_trace(file));
        return result;
    }
    const auto& failures = ended.launch.failures;
    const launch::Failure root = failures.empty() ? launch::Failure{} : failures.front();
    result.failure = asked_death(scenario, root);
    if (!result.failure) result.failure = error_of(root, backend);
    result.trace = ended.partial;
    if (scenario.faults.empty() || !result.trace) std::rethrow_exception(result.failure);
    return result;
}

}  // namespace

std::string lesson_needs_threads(const scenario::Scenario& scenario, const std::string& backend,
                                 const CommandContext& context) {
    return backends::has_processes(backend) ? in_language(scenario.only_threads, context) : "";
}

std::optional<Message> variant_needs_threads(const scenario::Variant& variant, const std::string& backend) {
    if (!is_exact_end(variant.ends) || !backends::has_processes(backend)) return {};
    return Message{"cli.lesson.exact_end", {{"variant", variant.id}, {"ends", variant.ends}}};
}

run::RunResult run_lesson(const scenario::Scenario& scenario, const std::string& backend,
                          const CommandContext& context, bool force) {
    if (backends::has_processes(backend)) return run_in_processes(scenario, "", backend, context, force);
    run::RunOptions options;
    options.backend = backend;
    options.force = force;
    return run_lesson_with_progress(scenario, context, options);
}

LessonVariants lesson_variants(const scenario::Scenario& scenario, const std::string& backend,
                               const CommandContext& context, bool force) {
    return {scenario, [&scenario, backend, &context, force](const scenario::Variant& variant) {
                if (auto why = variant_needs_threads(variant, backend)) {
                    run::VariantRun run;
                    run.id = variant.id;
                    run.problem = std::move(why);
                    return run;
                }
                const Polling polling(context);
                return run::run_variant(scenario, variant, [&](const scenario::Scenario& changed) {
                    if (backends::has_processes(backend))
                        return run_in_processes(changed, variant.id, backend, context, force);
                    run::RunOptions options;
                    options.force = force;
                    options.backend = backend;
                    options.cancel = context.cancelled;
                    return run::run_up_to_failure(changed, *context.make_backends(), options);
                });
            }};
}

}  // namespace meshscope::cli
