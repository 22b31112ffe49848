#include "app/cli/bench_step.h"

#include <algorithm>
#include <chrono>

#include "app/cli/bench_timing.h"
#include "core/base/error.h"
#include "core/memory/ledger.h"
#include "core/time/clock.h"

namespace meshscope::cli {
namespace {

/// Milliseconds of a timed step on the modelled clock: what all of them take, divided by their number.
double modelled_step(const trace::Trace& trace, const time::Profile& profile) {
    const time::Clock clock = time::modelled(trace, profile);
    const int64_t begin = time::span_of_step(trace, clock, kWarmUpSteps).begin_ns;
    const int64_t end = time::span_of_step(trace, clock, trace.info.steps - 1).end_ns;
    return static_cast<double>(end - begin) / 1e6 / (trace.info.steps - kWarmUpSteps);
}

/// Milliseconds of each timed step.
std::vector<double> step_times(const scenario::Scenario& scenario, const run::Backends& backends,
                               const std::string& backend, trace::Level level, StepBenchResult* recorded,
                               const std::optional<time::Profile>& profile) {
    std::vector<double> times;
    auto last = std::chrono::steady_clock::now();
    run::RunOptions options;
    options.backend = backend;
    options.level = level;
    options.progress = [&](int32_t done, int32_t, double) {
        const auto now = std::chrono::steady_clock::now();
        if (done > kWarmUpSteps)
            times.push_back(std::chrono::duration<double, std::milli>(now - last).count());
        last = now;
    };
    const run::RunResult result = run::run_scenario(scenario, backends, options);
    if (level != trace::Level::off)
        for (int32_t rank = 0; rank < result.trace->info.world_size; ++rank)
            recorded->peak_bytes = std::max(recorded->peak_bytes, memory::peak(*result.trace, rank).bytes);
    if (recorded != nullptr && profile) recorded->modelled_ms = modelled_step(*result.trace, *profile);
    return times;
}

}  // namespace

scenario::Scenario step_bench_scenario(const StepBench& bench) {
    scenario::Scenario scenario;
    scenario.model = bench.model;
    const bool tokens = bench.model.kind == "gpt" || bench.model.kind == "llama";
    if (tokens) scenario.data_kind = "tokens";
    if (scenario.model.kv_heads == 0) scenario.model.kv_heads = scenario.model.heads;
    scenario.model_seed = 1;
    scenario.data_seed = 1;
    scenario.data_samples = bench.batch * (bench.steps + kWarmUpSteps);
    scenario.steps = bench.steps + kWarmUpSteps;
    scenario.global_batch = bench.batch;
    scenario.optimizer = {
        .kind = bench.optimizer, .lr = 1e-3, .weight_decay = bench.optimizer == "adamw" ? 0.01 : 0.0};
    scenario.parallel.algorithm = bench.algorithm;
    if (bench.strategy == "single") {
        if (bench.ranks != 1)
            throw InvalidArgument({"bench.step.single_ranks", {{"ranks", int64_t{bench.ranks}}}});
    } else if (bench.strategy == "ddp") {
        scenario.parallel.data = scenario::DataStrategy::ddp;
        scenario.mesh_shape = {bench.ranks};
    } else if (bench.strategy == "fsdp2") {
        scenario.parallel.data = scenario::DataStrategy::fsdp2;
        scenario.mesh_shape = {bench.ranks};
        scenario.mesh_names = {"shard"};
    } else if (bench.strategy == "hsdp") {
        if (bench.ranks % 2 != 0)
            throw InvalidArgument({"bench.step.hsdp_ranks", {{"ranks", int64_t{bench.ranks}}}});
        scenario.parallel.data = scenario::DataStrategy::fsdp2;
        scenario.mesh_shape = {2, bench.ranks / 2};
        scenario.mesh_names = {"replicate", "shard"};
    } else {
        throw InvalidArgument({"bench.step.unknown_strategy", {{"strategy", bench.strategy}}});
    }
    if (bench.batch % bench.ranks != 0)
        throw InvalidArgument(
            {"bench.step.batch", {{"batch", bench.batch}, {"ranks", int64_t{bench.ranks}}}});
    return scenario;
}

StepBenchResult run_step_bench(const StepBench& bench, const run::Backends& backends,
                               const std::string& backend) {
    const scenario::Scenario scenario = step_bench_scenario(bench);
    StepBenchResult result;
    std::vector<double> recorded, unrecorded;
    for (int32_t repeat = 0; repeat < bench.repeats; ++repeat) {
        for (const double ms : step_times(scenario, backends, backend, bench.level, &result, bench.profile))
            recorded.push_back(ms);
        for (const double ms : step_times(scenario, backends, backend, trace::Level::off, nullptr, {}))
            unrecorded.push_back(ms);
    }
    result.ms = median(recorded);
    result.ms_unrecorded = median(unrecorded);
    const int64_t sample_tokens = scenario.data_kind == "tokens" ? bench.model.seq : 1;
    result.tokens_per_s = result.ms > 0 ? 1e3 * double(bench.batch * sample_tokens) / result.ms : 0;
    return result;
}

}  // namespace meshscope::cli
