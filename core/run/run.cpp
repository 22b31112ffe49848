#include "core/run/run.h"

#include <chrono>
#include <optional>
#include <thread>
#include <utility>

#include "core/base/clock.h"
#include "core/base/cores.h"
#include "core/base/crc32c.h"
#include "core/base/diagnosis.h"
#include "core/base/error.h"
#include "core/base/one_process.h"
#include "core/base/temporary_folder.h"
#include "core/comm/schedule/own/own_algorithm.h"
#include "core/run/checkpoint/folder.h"
#include "core/run/merge.h"
#include "core/run/plan.h"
#include "core/run/processes.h"
#include "core/run/rank.h"
#include "core/tensor/blas.h"

namespace meshscope::run {
namespace {

/// What the ranks of a run left.
struct Outcome {
    std::vector<RankResult> results;      ///< [rank]; of a process that is not rank 0 its own alone
    bool here = true;                     ///< see RunResult::here
    std::optional<NotFinite> not_finite;  ///< what a second run found; none: every number was finite
};

RankResult& result_of(comm::Transport& transport, std::vector<RankResult>& results) {
    return results[static_cast<std::size_t>(transport.rank().value)];
}

/// Of a second run of the steps up to `step`.
NotFinite first_finding(std::span<const RankResult> results, int32_t step) {
    std::vector<std::optional<NotFinite>> findings;
    for (const RankResult& result : results) findings.push_back(result.not_finite);
    NotFinite nothing;
    nothing.step = step;
    return first_of(findings).value_or(nothing);
}

/// All ranks, in this process.
void train_here(comm::World& world, const RunPlan& plan, RunControl& control,
                std::vector<RankResult>& results) {
    world.run([&](comm::Transport& transport) {
        train_rank(transport, plan, control, result_of(transport, results));
    });
}

/// Runs the steps up to a bad one again, every rank looking at what it makes.
NotFinite search_here(const Backends& backends, const RunPlan& first, const RunControl& control,
                      int32_t step) {
    const RunPlan plan = plan_search(first, step);
    RunControl again{.vote = StopVote(plan.options.cancel), .epoch_ns = control.epoch_ns};
    std::vector<RankResult> results(static_cast<std::size_t>(plan.world_size()));
    const auto world = backends.open(plan.options.backend, {plan.world_size()});
    train_here(*world, plan, again, results);
    return first_finding(results, step);
}

/// A checksum of the scenario's text: what tells two scenarios apart well enough.
int64_t checksum(const scenario::Scenario& scenario) {
    Crc32c crc;
    crc.add(scenario.source.data(), scenario.source.size());
    return int64_t{crc.value()};
}

/// What this process was started with; the others must have been started alike.
StartedWith started_with(const RunPlan& plan) {
    const Checkpoints& checkpoints = plan.inputs->checkpoints;
    const auto& own = plan.scenario.parallel.own;
    return {checksum(plan.scenario),
            int64_t{plan.world_size()},
            int64_t{checkpoints.resumed ? checkpoints.resumed->manifest().steps : 0},
            static_cast<int64_t>(plan.level),
            own ? int64_t{own->checksum()} : 0,
            int64_t{plan.checked}};
}

/// The one rank that lives in this process; rank 0 has every rank's results after it.
void train_and_gather(comm::Transport& transport, const RunPlan& plan, RunControl& control,
                      std::vector<RankResult>& results) {
    train_rank(transport, plan, control, result_of(transport, results));
    control.processes->end_calls();
    gather_to_rank0(*control.processes, plan, transport.rank(), results);
}

/// The whole run of this process, from the first word to the others to the last: afterwards rank 0's outcome
/// is what a world of threads would have left.
void train_process(comm::Transport& transport, const RunPlan& plan, RunControl& control, Outcome& outcome) {
    Processes processes(transport, plan.mesh, plan.groups);
    outcome.here = processes.is_first();
    processes.agree(started_with(plan));
    control.epoch_ns = processes.start_clock();
    control.run_id = processes.rank0_says(control.run_id);
    control.processes = &processes;
    train_and_gather(transport, plan, control, outcome.results);

    constexpr int32_t kAllFinite = -1;
    int64_t bad_step = kAllFinite;
    if (outcome.here) bad_step = first_step_not_finite(plan, outcome.results).value_or(kAllFinite);
    bad_step = processes.rank0_says(bad_step);
    if (bad_step == kAllFinite) return;
    const auto step = static_cast<int32_t>(bad_step);
    const RunPlan search = plan_search(plan, step);
    RunControl again{
        .vote = StopVote(plan.options.cancel), .epoch_ns = control.epoch_ns, .processes = &processes};
    std::vector<RankResult> found(outcome.results.size());
    train_and_gather(transport, search, again, found);
    if (outcome.here) outcome.not_finite = first_finding(found, step);
}

/// A fault that did not happen would be taken for one that did no harm.
void refuse_faults_that_never_came(const scenario::Scenario& scenario, std::span<const RankResult> results) {
    std::vector<Diagnostic> found;
    for (const RankResult& result : results)
        for (const comm::Faults::NeverCame& each : result.never_came) {
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

/// Saves in a folder that is gone with the run, or with the processes that whoever started them holds it for.
RunResult run_in_temporary_folder(const scenario::Scenario& scenario, const Backends& backends,
                                  const RunOptions& options) {
    std::optional<TemporaryFolder> own;
    scenario::Scenario placed = scenario;
    placed.checkpoint.folder = options.temporary_folder;
    if (placed.checkpoint.folder.empty()) {
        // Processes could not agree on a name.
        if (!is_of_one_process(backend_of(scenario, options)))
            throw InvalidArgument({"checkpoint.temporary_needs_folder", {}});
        placed.checkpoint.folder = own.emplace("meshscope-checkpoint").file("checkpoints");
    }
    return run_scenario(placed, backends, options);
}

/// Who decides which rank runs, where the scenario or the options name one by its word; null: nobody, or
/// RunOptions::scheduler.
std::unique_ptr<comm::InterleavingScheduler> scheduler_by_word(const RunPlan& plan) {
    if (plan.options.scheduler != nullptr) return nullptr;
    const std::string& word = plan.options.schedule.empty() ? plan.scenario.schedule : plan.options.schedule;
    return word.empty() ? nullptr : comm::make_scheduler(word);
}

/// Opens the world of a plan, and enters in the plan what depends on it.
std::unique_ptr<comm::World> open_world(const Backends& backends, RunPlan& plan,
                                        comm::InterleavingScheduler* scheduler) {
    using Executor = comm::StreamExecutor;
    const RunOptions& options = plan.options;
    // Only ranks of one process can be let run one at a time.
    if (scheduler != nullptr && !is_of_one_process(options.backend))
        throw InvalidArgument({"run.cannot_step", {{"backend", options.backend}}});
    const auto machine_cores = static_cast<int32_t>(std::thread::hardware_concurrency());
    std::unique_ptr<comm::World> world =
        backends.open(options.backend, {plan.world_size(), scheduler, options.init_method, options.timeout,
                                        options.tell, [machine_cores](int32_t here) {
                                            return Executor::choose_mode(here, machine_cores) ==
                                                   Executor::Mode::inline_in_wait;
                                        }});
    // Of processes each may be bound to cores of its own.
    plan.executor_mode = Executor::choose_mode(world->ranks_on_this_machine(),
                                               world->whole() ? usable_cores() : machine_cores);
    const comm::DeviceFacts* const device = world->device();
    // A run on a stand-in may never be taken for one on a GPU.
    if (device != nullptr && device->is_stand_in()) plan.backend += "-stand-in";
    // Before the run's clock starts, not within its first product.
    if (device == nullptr && plan.inputs->model) tensor::load_matrix_product_library();
    return world;
}

/// After a rank failed: what it was saving goes, and what all ranks recorded up to then is handed on.
void leave_failed(const RunPlan& plan, std::vector<RankResult> results, const std::exception& error) {
    // Rank 0 may be giving a checkpoint its name while another process fails, and so may another run: only
    // who holds the folder may clean up.
    if (plan.saves && plan.inputs->checkpoints.save.lock->taken())
        checkpoint::remove_unfinished(plan.scenario.checkpoint.folder);
    if (plan.options.on_failure)
        plan.options.on_failure(std::make_shared<const trace::Trace>(
            partial_trace(describe_run(plan), plan.groups.groups, std::move(results), failure_json(error))));
}

}  // namespace

RunResult run_scenario(const scenario::Scenario& scenario, const Backends& backends,
                       const RunOptions& options) {
    if (scenario.checkpoint.temporary && scenario.checkpoint.folder.empty())
        return run_in_temporary_folder(scenario, backends, options);
    RunPlan plan = plan_run(scenario, options);
    if (const auto& resumed = plan.inputs->checkpoints.resumed; resumed && options.resumed)
        options.resumed(resumed->folder(), resumed->manifest().steps);
    const auto by_word = scheduler_by_word(plan);
    const auto world =
        open_world(backends, plan, options.scheduler != nullptr ? options.scheduler : by_word.get());

    Outcome outcome;
    outcome.results.resize(static_cast<std::size_t>(plan.world_size()));
    // Two runs do not begin in the same nanosecond: that is all that the id is for.
    RunControl control{.vote = StopVote(options.cancel),
                       .epoch_ns = steady_ns(),
                       .run_id = std::chrono::system_clock::now().time_since_epoch().count()};
    try {
        if (world->whole())
            train_here(*world, plan, control, outcome.results);
        else
            world->run([&](comm::Transport& transport) { train_process(transport, plan, control, outcome); });
    } catch (const std::exception& error) {
        leave_failed(plan, std::move(outcome.results), error);
        throw;
    }
    RunResult result;
    if (outcome.here) {
        refuse_faults_that_never_came(plan.scenario, outcome.results);
        if (world->whole())
            if (const auto step = first_step_not_finite(plan, outcome.results))
                outcome.not_finite = search_here(backends, plan, control, *step);
        result = merge_run(plan, std::move(outcome.results));
        result.not_finite = std::move(outcome.not_finite);
    }
    result.here = outcome.here;
    if (const comm::DeviceFacts* const device = world->device()) result.device_memory = device->memory();
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
