#include "core/run/run.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <optional>
#include <thread>

#include "core/base/clock.h"
#include "core/base/cores.h"
#include "core/base/crc32c.h"
#include "core/base/diagnosis.h"
#include "core/base/error.h"
#include "core/base/temporary_folder.h"
#include "core/comm/schedule/own/own_algorithm.h"
#include "core/run/checkpoint/folder.h"
#include "core/run/describe.h"
#include "core/run/fit.h"
#include "core/run/gather_to_rank0.h"
#include "core/run/groups.h"
#include "core/run/mean_by_step.h"
#include "core/run/partial.h"
#include "core/run/processes.h"
#include "core/run/rank.h"
#include "core/run/run_inputs.h"
#include "core/tensor/blas.h"
#include "core/trace/final_parameters.h"

namespace meshscope::run {
namespace {

/// The values of the steps before a resumed run's own, then those.
std::vector<double> with_earlier(std::vector<double> earlier, const std::vector<double>& own) {
    earlier.insert(earlier.end(), own.begin(), own.end());
    return earlier;
}

/// The first step whose numbers are not finite. A parameter may be none while no loss has seen it yet: then
/// it is the last step.
std::optional<int32_t> first_step_not_finite(const trace::RunInfo& info,
                                             const std::vector<NamedArray>& parameters,
                                             const std::vector<Evaluated>& evaluations) {
    for (std::size_t s = 0; s < info.losses.size(); ++s)
        if (!std::isfinite(info.losses[s]) ||
            (s < info.grad_norms.size() && !std::isfinite(info.grad_norms[s])))
            return static_cast<int32_t>(s);
    for (const Evaluated& evaluated : evaluations)
        if (!std::isfinite(evaluated.loss)) return evaluated.step;
    if (!all_finite(parameters)) return info.steps - 1;
    return std::nullopt;
}

/// The weights go into the record too, where it has room for them: two runs can be compared by their files.
void keep_parameters(trace::RunInfo& info, const std::vector<NamedArray>& parameters) {
    int64_t numbers = 0;
    for (const NamedArray& p : parameters) numbers += static_cast<int64_t>(p.numbers.size());
    if (numbers > trace::kMostFinalNumbers) return;  // not copied for nothing
    std::vector<trace::FinalParameter> kept;
    for (const NamedArray& p : parameters)
        kept.push_back({p.name, {p.shape.begin(), p.shape.end()}, p.numbers});
    trace::keep_parameters(info, std::move(kept));
}

/// Runs the steps up to the first bad one again, every rank looking at what it makes; `run_ranks` runs those
/// that live here and brings their findings together.
NotFinite find_not_finite(const SharedRun& before, int32_t step,
                          const std::function<void(SharedRun&)>& run_ranks) {
    scenario::Scenario again = before.scenario;
    again.steps = step + 1;
    RunOptions options = before.options;
    options.progress = {};
    const auto ranks = before.records.size();
    std::vector<trace::RankRecord> records(ranks);
    std::vector<std::vector<double>> losses(ranks), grad_norms(ranks);
    std::vector<int64_t> wall_ns(ranks, 0);
    std::vector<NamedArray> parameters = before.parameters;
    std::vector<std::optional<NotFinite>> findings(ranks);
    std::vector<ParameterPart> parts;
    StopVote vote(options.cancel);
    SharedRun shared{again,           options,        before.mesh,       before.groups,
                     before.weights,  before.batches, trace::Level::off, before.executor_mode,
                     before.epoch_ns, vote,           records,           losses,
                     grad_norms,      parameters,     wall_ns,           false,
                     before.resumed,  nullptr,        &findings};
    shared.node_of_rank = before.node_of_rank;
    shared.backend = before.backend;
    shared.processes = before.processes;
    if (before.parts) shared.parts = &parts;
    run_ranks(shared);
    NotFinite nothing;
    nothing.step = step;
    return first_of(findings).value_or(nothing);
}

/// A fault that did not happen would be taken for one that did no harm.
void refuse_faults_that_never_came(const scenario::Scenario& scenario,
                                   const std::vector<std::vector<comm::Faults::NeverCame>>& never_came) {
    std::vector<Diagnostic> found;
    for (const auto& of_rank : never_came)
        for (const comm::Faults::NeverCame& each : of_rank) {
            const comm::Fault& fault = scenario.faults[each.place];
            found.push_back({{"run.fault_never_came",
                              {{"kind", std::string(name(fault.kind))},
                               {"rank", int64_t{fault.rank}},
                               {"step", int64_t{fault.step}},
                               {"calls", int64_t{each.calls}}}},
                             scenario.fault_positions[each.place],
                             {}});
        }
    if (!found.empty()) throw InputError(std::move(found));
}

/// A backend's name as the record has it: a run on a stand-in may never be taken for one on a GPU.
std::string recorded_name(const std::string& backend, const comm::DeviceFacts* device) {
    return device != nullptr && device->is_stand_in() ? backend + "-stand-in" : backend;
}

/// The run's figures, from what its ranks left.
trace::RunInfo sum_up(const SharedRun& shared, const Checkpoints& checkpoints) {
    trace::RunInfo info = describe_run(shared.scenario, shared.mesh, shared.backend, shared.level);
    info.losses = with_earlier(checkpoints.save.header.losses, mean_by_step(shared.losses));
    info.grad_norms = with_earlier(checkpoints.save.header.grad_norms, mean_by_step(shared.grad_norms));
    // Plain calls are one step, without a loss.
    info.steps = shared.scenario.calls.empty() ? static_cast<int32_t>(info.losses.size()) : 1;
    return info;
}

/// All ranks got the same; some stand outside the mesh.
std::vector<Evaluated> evaluations_of(const SharedRun& shared) {
    for (const std::vector<Evaluated>& of_rank : *shared.evaluations)
        if (!of_rank.empty()) return of_rank;
    return {};
}

/// A checksum of the scenario's text: what tells two scenarios apart well enough.
int64_t checksum(const scenario::Scenario& scenario) {
    Crc32c crc;
    crc.add(scenario.source.data(), scenario.source.size());
    return int64_t{crc.value()};
}

/// The one rank that lives in this process, from the first word to the others to the last: afterwards rank
/// 0's `shared` and `result` are what a world of threads would have left.
void train_in_process(comm::Transport& transport, SharedRun& shared, const Checkpoints& checkpoints,
                      RunResult& result) {
    Processes processes(transport, shared.mesh, shared.groups);
    result.here = processes.is_first();
    const int32_t rank = transport.rank().value;
    processes.agree({checksum(shared.scenario), int64_t{scenario::world_size(shared.scenario)},
                     int64_t{checkpoints.resumed ? checkpoints.resumed->manifest().steps : 0},
                     static_cast<int64_t>(shared.level),
                     shared.scenario.parallel.own ? int64_t{shared.scenario.parallel.own->checksum()} : 0});
    shared.epoch_ns = processes.start_clock();
    shared.run_id = processes.rank0_says(shared.run_id);
    shared.processes = &processes;
    std::vector<ParameterPart> parts;
    if (!result.here) shared.parts = &parts;
    train_rank(transport, shared);
    processes.end_calls();
    gather_to_rank0(processes, shared, rank, parts);

    constexpr int64_t kAllFinite = -1;
    int64_t bad_step = kAllFinite;
    if (result.here)
        bad_step =
            first_step_not_finite(sum_up(shared, checkpoints), shared.parameters, evaluations_of(shared))
                .value_or(static_cast<int32_t>(kAllFinite));
    bad_step = processes.rank0_says(bad_step);
    if (bad_step == kAllFinite) return;
    const NotFinite found = find_not_finite(shared, static_cast<int32_t>(bad_step), [&](SharedRun& again) {
        train_rank(transport, again);
        processes.end_calls();
        gather_to_rank0(processes, again, rank, again.parts ? *again.parts : std::vector<ParameterPart>{});
    });
    if (result.here) result.not_finite = found;
}

}  // namespace

namespace {

/// Saves in a folder that is gone with the run, or with the processes that whoever started them holds it for.
RunResult run_in_temporary_folder(const scenario::Scenario& scenario, const Backends& backends,
                                  const RunOptions& options) {
    std::optional<TemporaryFolder> own;
    scenario::Scenario placed = scenario;
    placed.checkpoint.folder = options.temporary_folder;
    if (placed.checkpoint.folder.empty()) {
        // Processes could not agree on a name.
        if (options.backend != "threads") throw InvalidArgument({"checkpoint.temporary_needs_folder", {}});
        placed.checkpoint.folder = own.emplace("meshscope-checkpoint").file("checkpoints");
    }
    return run_scenario(placed, backends, options);
}

}  // namespace

bool all_finite(const std::vector<NamedArray>& parameters) {
    return std::ranges::all_of(parameters, [](const NamedArray& parameter) {
        return std::ranges::all_of(parameter.numbers, [](float x) { return std::isfinite(x); });
    });
}

RunResult run_scenario(const scenario::Scenario& scenario, const Backends& backends,
                       const RunOptions& options) {
    if (scenario.checkpoint.temporary && scenario.checkpoint.folder.empty())
        return run_in_temporary_folder(scenario, backends, options);
    const mesh::DeviceMesh mesh = build_mesh(scenario);
    const int32_t world_size = scenario::world_size(scenario);
    if (world_size > kMostRunRanks)
        throw InvalidArgument(
            {"run.too_many_ranks", {{"ranks", int64_t{world_size}}, {"most", int64_t{kMostRunRanks}}}});
    if (!options.force)
        require_fit(scenario, {options.backend, options.ranks_here, options.level.value_or(scenario.level),
                               options.library_bytes});
    const bool saves = scenario.checkpoint.saves();
    const GroupTable groups = groups_of(scenario, mesh, saves);
    const RunInputs inputs = open_run_inputs(scenario, options);
    const Checkpoints& checkpoints = inputs.checkpoints;
    if (checkpoints.resumed && options.resumed)
        options.resumed(checkpoints.resumed->folder(), checkpoints.resumed->manifest().steps);
    const std::string& schedule = options.schedule.empty() ? scenario.schedule : options.schedule;
    std::unique_ptr<comm::InterleavingScheduler> own_scheduler;
    if (!schedule.empty() && options.scheduler == nullptr) own_scheduler = comm::make_scheduler(schedule);
    comm::InterleavingScheduler* const scheduler =
        options.scheduler != nullptr ? options.scheduler : own_scheduler.get();
    // Only threads of one process can be let run one at a time.
    if (scheduler != nullptr && options.backend != "threads")
        throw InvalidArgument({"run.cannot_step", {{"backend", options.backend}}});
    using Mode = comm::StreamExecutor::Mode;
    const auto machine_cores = static_cast<int32_t>(std::thread::hardware_concurrency());
    const std::unique_ptr<comm::World> world = backends.open(
        options.backend,
        {world_size, scheduler, options.init_method, options.timeout, options.tell, [&](int32_t here) {
             return comm::StreamExecutor::choose_mode(here, machine_cores) == Mode::inline_in_wait;
         }});
    const comm::DeviceFacts* const device = world->device();
    // Before the run's clock starts, not within its first product.
    if (device == nullptr && inputs.model) tensor::load_matrix_product_library();

    const auto ranks = static_cast<std::size_t>(world_size);
    std::vector<trace::RankRecord> records(ranks);
    std::vector<std::vector<double>> losses(ranks), grad_norms(ranks);
    std::vector<int64_t> wall_ns(ranks, 0);
    std::vector<std::vector<Evaluated>> evaluations(ranks);
    RunResult result;
    if (inputs.model)
        for (const auto& parameter : inputs.model->all_parameters())
            result.parameters.push_back(
                {parameter->name, parameter->shape,
                 std::vector<float>(static_cast<std::size_t>(tensor::count(parameter->shape)))});

    // Of processes each may be bound to cores of its own.
    const int32_t cores = world->whole() ? usable_cores() : machine_cores;
    StopVote vote(options.cancel);
    const trace::Level level = options.level.value_or(scenario.level);
    SharedRun shared{scenario,
                     options,
                     mesh,
                     groups,
                     inputs.first_values(),
                     *inputs.batches,
                     level,
                     comm::StreamExecutor::choose_mode(world->ranks_on_this_machine(), cores),
                     steady_ns(),
                     vote,
                     records,
                     losses,
                     grad_norms,
                     result.parameters,
                     wall_ns,
                     false,
                     checkpoints.resumed.get(),
                     saves ? &checkpoints.save : nullptr,
                     nullptr,
                     &evaluations,
                     node_of_rank(scenario, mesh)};
    std::vector<std::vector<comm::Faults::NeverCame>> never_came(ranks);
    shared.checked = options.checked.value_or(scenario.checked.value_or(
        !scenario.steps_of_lesson.empty() || !scenario.faults.empty() || !scenario.calls.empty()));
    shared.never_came = &never_came;
    shared.backend = recorded_name(options.backend, device);
    std::vector<std::optional<Message>> part_failures(ranks);
    if (!options.parts.empty()) shared.part_failures = &part_failures;
    // Two runs do not begin in the same nanosecond: that is all it is for.
    shared.run_id = std::chrono::system_clock::now().time_since_epoch().count();
    try {
        if (world->whole())
            world->run([&](comm::Transport& transport) { train_rank(transport, shared); });
        else
            world->run([&](comm::Transport& transport) {
                train_in_process(transport, shared, checkpoints, result);
            });
    } catch (const std::exception& error) {
        // Rank 0 may be giving a checkpoint its name while another process fails, and so may another run:
        // only who holds the folder may clean up.
        if (saves && checkpoints.save.lock->taken())
            checkpoint::remove_unfinished(scenario.checkpoint.folder);
        if (options.on_failure)
            options.on_failure(std::make_shared<const trace::Trace>(
                partial_trace(describe_run(scenario, mesh, shared.backend, level), groups.groups,
                              std::move(records), losses, failure_json(error))));
        throw;
    }
    if (device != nullptr) result.device_memory = device->memory();
    if (!result.here) return result;
    refuse_faults_that_never_came(scenario, never_came);
    for (const std::optional<Message>& failure : part_failures)
        if (failure && !result.part_failure) result.part_failure = failure;

    trace::RunInfo info = sum_up(shared, checkpoints);
    result.evaluations = evaluations_of(shared);
    if (checkpoints.resumed) result.resumed_after = checkpoints.resumed->manifest().steps;
    if (world->whole())
        if (const auto step = first_step_not_finite(info, result.parameters, result.evaluations))
            result.not_finite = find_not_finite(shared, *step, [&](SharedRun& again) {
                const auto second = backends.open(options.backend, {world_size});
                second->run([&](comm::Transport& transport) { train_rank(transport, again); });
            });
    for (const int64_t ns : wall_ns) result.wall_ns = std::max(result.wall_ns, ns);
    if (level != trace::Level::off) keep_parameters(info, result.parameters);
    result.trace = std::make_shared<const trace::Trace>(
        trace::merge(std::move(info), groups.groups, std::move(records)));
    return result;
}

RunResult run_up_to_failure(const scenario::Scenario& scenario, const Backends& backends,
                            const RunOptions& options) {
    if (scenario.faults.empty()) return run_scenario(scenario, backends, options);
    RunResult result;
    RunOptions keeping = options;
    keeping.on_failure = [&](const std::shared_ptr<const trace::Trace>& trace) {
        result.trace = trace;
        if (options.on_failure) options.on_failure(trace);
    };
    try {
        return run_scenario(scenario, backends, keeping);
    } catch (const CommError&) {
        if (!result.trace) throw;
        result.failure = std::current_exception();
    }
    return result;
}

}  // namespace meshscope::run
