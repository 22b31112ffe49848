#pragma once

#include <atomic>
#include <chrono>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/comm/device_facts.h"
#include "core/comm/interleaving_scheduler.h"
#include "core/comm/transport.h"
#include "core/nn/module.h"
#include "core/run/finite.h"
#include "core/scenario/scenario.h"
#include "core/trace/trace.h"

namespace meshscope::run {

/// What is asked of a world beyond its kind.
struct WorldRequest {
    int32_t size = 1;  ///< ranks
    /// Not null: one rank runs at a time, in the order it says (ranks of one process only). Outlives the
    /// world.
    comm::InterleavingScheduler* scheduler = nullptr;
    /// How processes find each other over TCP: "env://" (or ""), "tcp://host:port", "file:///path".
    std::string init_method{};
    /// The longest that one receive or wait may take between processes; 0: the backend's own.
    std::chrono::milliseconds timeout{0};
    /// Takes what ranks between processes have to say and is no failure: a stranger was sent away, a rank has
    /// waited long. Called from any thread; must not wait for anybody.
    std::function<void(const Message&)> tell{};
    /// Whether the transport of a rank that shares its machine with so many in all (itself counted) will be
    /// used by the thread of its body alone. Asked before the world is there: an MPI that is started for one
    /// thread takes no locks (Open MPI's cost 0.1 µs a call). Empty: never.
    std::function<bool(int32_t ranks_here)> one_thread_a_rank{};
};

/// Opens worlds by backend name. app wires the real one (backends/registry); core knows no backend.
class Backends {
  public:
    virtual ~Backends() = default;
    /// Throws InvalidArgument ("backend.unknown", "backend.not_built").
    virtual std::unique_ptr<comm::World> open(const std::string& name, const WorldRequest& request) const = 0;
    virtual std::vector<std::string> names() const = 0;
};

/// What a run that may have been stopped and started again asks for.
inline constexpr const char* kResumeAuto = "auto";

struct RunOptions {
    std::string backend;                       ///< "": see backend_of() in plan.h
    std::string init_method;                   ///< see WorldRequest
    std::chrono::milliseconds timeout{0};      ///< see WorldRequest
    std::function<void(const Message&)> tell;  ///< see WorldRequest
    int64_t library_bytes = 0;                 ///< see RunPlace
    /// Overrides the scenario's level when set.
    std::optional<trace::Level> level;
    /// A checkpoint, or a folder of them, to go on from; overrides the scenario's when set. kResumeAuto: the
    /// newest one in [checkpoint] folder that leaves steps to do; the run begins anew where there is none.
    std::string resume;
    /// Where a temporary checkpoint ([checkpoint] temporary) is kept; "": in a new folder that is removed
    /// again. Ranks that are processes must be given one, the same for all.
    std::string temporary_folder;
    /// The restart round of the job, from 0: how often its processes were started again. Faults belong to
    /// one.
    int32_t round = 0;
    /// Called after each step on the thread of the first rank that knows the loss: rank 0, but for pipelines
    /// that end elsewhere.
    std::function<void(int32_t steps_done, int32_t steps, double loss)> progress;
    /// Called once before the first step of a run that goes on from a checkpoint: which one, and its steps.
    std::function<void(const std::string& checkpoint, int32_t steps_done)> resumed;
    /// Set from a signal handler or another thread: the run stops after the present step; its result holds
    /// the steps done.
    const std::atomic<bool>* cancel = nullptr;
    /// Whether the members of a group compare their calls, and messages carry checksums; the scenario's
    /// [run] checked when not set, and where that is not set either: for lessons and with faults.
    std::optional<bool> checked;
    /// Who decides which rank runs, as make_scheduler reads it ("random:7"); the scenario's when empty.
    std::string schedule;
    /// The same by hand, for a window or a test; before `schedule`. Outlives the run.
    comm::InterleavingScheduler* scheduler = nullptr;
    /// Called when a rank failed, before run_scenario throws: with what all ranks recorded up to then.
    /// RunInfo::failure says why; losses are those of the steps that all ranks finished.
    std::function<void(std::shared_ptr<const trace::Trace>)> on_failure;
    /// Not empty: while the run lasts each rank appends what it recorded, step by step, to
    /// trace::part_path(parts, rank), so that a run that is killed leaves it (recover.h). Who writes the
    /// trace removes them.
    std::string parts;
    /// Whether the run begins although it is not expected to fit into this machine's memory (fit.h).
    bool force = false;
    /// Ranks on this machine, where they are processes; 0: unknown, and nothing is said about memory.
    int32_t ranks_here = 0;
};

/// A parameter after training, whole, under PyTorch's name.
struct NamedArray {
    std::string name;
    nn::Shape shape;
    std::vector<float> numbers;
};

/// What an evaluation came to.
struct Evaluated {
    int32_t step = 0;  ///< the one it followed
    double loss = 0;   ///< the mean over the samples of the evaluation set, each once
    int64_t samples = 0;
};

struct RunResult {
    /// False where ranks are processes and this one is not rank 0: rank 0 has it all, the rest means nothing
    /// here.
    bool here = true;
    std::shared_ptr<const trace::Trace> trace;
    std::vector<NamedArray> parameters;  ///< in Model::parameters() order
    /// Set when a loss, a gradient norm or a parameter after the last step is not finite.
    std::optional<NotFinite> not_finite;
    std::vector<Evaluated> evaluations;  ///< of this run, not of the one it went on from
    int64_t wall_ns = 0;                 ///< the steps alone, set-up not counted
    int32_t resumed_after = 0;  ///< the steps of the checkpoint that it went on from; of RunInfo::steps
    /// What the device's own allocator gave out; nothing where there is none that tells.
    std::optional<comm::DeviceMemory> device_memory;
    std::exception_ptr failure;           ///< what ended the run early; only from run_up_to_failure
    std::optional<Message> part_failure;  ///< why RunOptions::parts are not whole, of the first such rank
};

/// Whether every number of every array is finite: what is not is of no use to whoever reads it back.
bool all_finite(const std::vector<NamedArray>& parameters);

/// The most ranks a run may start; more can be run dry only.
inline constexpr int32_t kMostRunRanks = 4096;
/// Plain calls of a larger world are compared only where that is asked for.
inline constexpr int32_t kMostComparedByDefault = 256;

/// Really runs a scenario: reads weights and data, starts the ranks, trains, merges the records. Throws
/// InputError for unusable files and for faults that never came, CommError when a rank failed (the first
/// cause; DiagnosedError where it is known what the ranks did), InvalidArgument ("run.too_many_ranks",
/// "run.does_not_fit…" before anything is started, "run.cannot_step" when another backend than threads and
/// fibers is to be stepped). When a number went to NaN or Inf, the steps up to there run once more,
/// unrecorded, to find the op and the rank that made it: the same bits come out again.
///
/// Where the backend's ranks are processes, each calls it with the same scenario and options (CommError
/// "run.processes_differ" where they are not the same); rank 0's `cancel` counts, and rank 0 gets the result,
/// the same one that threads would have given.
RunResult run_scenario(const scenario::Scenario& scenario, const Backends& backends,
                       const RunOptions& options = {});

/// As run_scenario, for who shows what a scenario's faults do: where faults were asked for and the ranks
/// failed, the result holds what was recorded up to there, the error in `failure`, and no parameters.
RunResult run_up_to_failure(const scenario::Scenario& scenario, const Backends& backends,
                            const RunOptions& options = {});

}  // namespace meshscope::run
