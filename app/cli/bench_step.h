#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/run/run.h"
#include "core/scenario/scenario.h"
#include "core/time/profile.h"

namespace meshscope::cli {

/// What `meshscope bench step` is asked.
struct StepBench {
    std::string strategy = "single";  ///< one of those that step_strategies names
    int32_t ranks = 1;
    nn::ModelSpec model{
        .kind = "gpt", .dim = 64, .hidden = 256, .layers = 2, .vocab = 256, .seq = 32, .heads = 4};
    int64_t batch = 8;  ///< samples of the global batch
    std::string optimizer = "adamw";
    Algorithm algorithm = Algorithm::direct;
    trace::Level level = trace::Level::collectives;
    int32_t steps = 20;                    ///< timed steps a run
    std::optional<time::Profile> profile;  ///< of the modelled clock; none: nothing is modelled
    int32_t repeats = 5;                   ///< runs with and without recording, taking turns
};

/// Medians over the timed steps, rank 0's clock.
struct StepBenchResult {
    double ms = 0;  ///< recorded at StepBench::level
    double ms_unrecorded = 0;
    double record_percent = 0;  ///< what recording adds to ms_unrecorded: the median over pairs of runs
    double event_ns = 0;        ///< what writing one event costs, measured by itself; see measure_event_ns
    double tokens_per_s = 0;  ///< of the recorded runs; a sample counts as one where the model has no tokens
    double modelled_ms = 0;   ///< a step on the modelled clock; 0 without a profile
    int64_t peak_bytes = 0;   ///< the largest of the ranks' memory peaks
    double product_ms = 0;    ///< of ms, what rank 0's matrix products took: linear layers and attention
    /// The most memory that the process ever held (resident set), everything included: the program, its
    /// libraries, all ranks, the record. 0 where the system does not tell.
    int64_t process_peak_bytes = 0;
};

/// What --strategy takes, as one text: "single, ddp …".
std::string step_strategies(std::string_view separator);

/// The scenario that a bench stands for. Throws InvalidArgument ("bench.step.…") for what cannot be run.
scenario::Scenario step_bench_scenario(const StepBench& bench);

/// Nanoseconds that writing one event of a rank costs, at `level`: the larger of a compute event (begin, end)
/// and a collective's (issue, begin, end), each with its clock stamps and its share of new memory. The median
/// of blocks of 4096 events on a fresh recorder that already holds as many. Hops and values are not in it.
double measure_event_ns(trace::Level level);

/// Runs it, recorded and unrecorded in turn, so that a drifting machine touches both alike. The first steps
/// of each run (buckets are rebuilt, caches fill) are not timed.
StepBenchResult run_step_bench(const StepBench& bench, const run::Backends& backends,
                               const std::string& backend);

}  // namespace meshscope::cli
