#include "app/cli/bench_step.h"

#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <source_location>

#include "app/cli/bench_timing.h"
#include "app/cli/command.h"
#include "core/base/error.h"
#include "core/memory/ledger.h"
#include "core/parallel/declaration.h"
#include "core/time/clock.h"
#include "core/time/profile.h"

namespace meshscope::cli {
namespace {

constexpr std::array<std::string_view, 9> kStrategies{"single", "ddp",   "fsdp1", "fsdp2", "hsdp",
                                                      "zero1",  "zero2", "zero3", "tp"};

/// Milliseconds of a timed step on the modelled clock: what all of them take, divided by their number.
double modelled_step(const trace::Trace& trace, const time::Profile& profile) {
    const time::Clock clock = time::modelled(trace, profile);
    const int64_t begin = time::span_of_step(trace, clock, kWarmUpSteps).begin_ns;
    const int64_t end = time::span_of_step(trace, clock, trace.info.steps - 1).end_ns;
    return static_cast<double>(end - begin) / 1e6 / (trace.info.steps - kWarmUpSteps);
}

/// Milliseconds of a timed step that rank 0 spent in matrix products, by the record.
double product_step(const trace::Trace& trace) {
    int64_t ns = 0;
    for (const trace::Event& event : trace.ranks[0].events) {
        if (event.kind != trace::EventKind::compute || event.step < kWarmUpSteps) continue;
        const std::string_view name = trace.text(event.name);
        if (time::is_product(name)) ns += event.t_end_ns - event.t_begin_ns;
    }
    return static_cast<double>(ns) / 1e6 / (trace.info.steps - kWarmUpSteps);
}

int64_t process_peak_bytes() {
    rusage usage{};
    return getrusage(RUSAGE_SELF, &usage) == 0 ? int64_t{1024} * usage.ru_maxrss : 0;
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
    if (recorded != nullptr) recorded->product_ms = product_step(*result.trace);
    if (recorded != nullptr && profile) recorded->modelled_ms = modelled_step(*result.trace, *profile);
    return times;
}

}  // namespace

std::string step_strategies(std::string_view separator) {
    std::string text;
    for (const std::string_view strategy : kStrategies) {
        if (!text.empty()) text += separator;
        text += strategy;
    }
    return text;
}

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
    if (std::ranges::find(kStrategies, bench.strategy) == kStrategies.end()) {
        throw UsageError({"bench.step.unknown_strategy",
                          {{"strategy", bench.strategy}, {"known", step_strategies(", ")}}});
    }
    int64_t data_ranks = bench.ranks;
    if (bench.strategy == "single") {
        if (bench.ranks != 1)
            throw InvalidArgument({"bench.step.single_ranks", {{"ranks", int64_t{bench.ranks}}}});
        return scenario;
    }
    scenario.mesh_shape = {bench.ranks};
    if (bench.strategy == "tp") {
        if (!tokens) throw InvalidArgument({"bench.step.tp_model", {{"model", bench.model.kind}}});
        const bool llama = bench.model.kind == "llama";  // gpt's heads have keys and values of their own
        const int64_t heads = llama ? scenario.model.kv_heads : scenario.model.heads;
        if (heads % bench.ranks != 0)
            throw InvalidArgument({llama ? "bench.step.tp_kv_heads" : "bench.step.tp_heads",
                                   {{"heads", heads}, {"ranks", int64_t{bench.ranks}}}});
        scenario.mesh_names = {"tp"};
        data_ranks = 1;
    } else {
        const parallel::Declaration& strategy = *parallel::find_declaration(bench.strategy);
        scenario.parallel.data = strategy.id;
        if (bench.strategy == strategy.hybrid_word) {
            if (bench.ranks % 2 != 0)
                throw InvalidArgument({"bench.step.hsdp_ranks", {{"ranks", int64_t{bench.ranks}}}});
            scenario.mesh_shape = {2, bench.ranks / 2};
            scenario.mesh_names = {"replicate", "shard"};
        } else if (strategy.dims != parallel::DataDims::replicate) {
            scenario.mesh_names = {"shard"};
        }
    }
    if (bench.batch % data_ranks != 0)
        throw InvalidArgument({"bench.step.batch", {{"batch", bench.batch}, {"ranks", data_ranks}}});
    return scenario;
}

double measure_event_ns(trace::Level level) {
    constexpr int kEvents = 4096;
    std::vector<double> compute, collective;
    for (int block = 0; block < 15; ++block) {
        trace::Recorder recorder(GlobalRank{0}, level, 0);
        const auto time = [&](const auto& write) {
            const auto begin = std::chrono::steady_clock::now();
            for (int i = 0; i < kEvents; ++i) write();
            const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - begin;
            return took.count() / kEvents;
        };
        const auto write_compute = [&] {
            recorder.end_compute(recorder.begin_compute("linear", "layers.0"), 1, 1);
        };
        const auto write_collective = [&] {
            const trace::Event* const event = recorder.enter_collective(
                Stream::compute, {"user.call", "layers.0"}, std::source_location::current());
            recorder.begin_collective(event->id, Algorithm::direct);
            recorder.end_collective(event->id, 1);
        };
        time(write_compute);  // what is reserved beforehand is used up
        compute.push_back(time(write_compute));
        collective.push_back(time(write_collective));
    }
    return std::max(median(compute), median(collective));
}

StepBenchResult run_step_bench(const StepBench& bench, const run::Backends& backends,
                               const std::string& backend) {
    const scenario::Scenario scenario = step_bench_scenario(bench);
    StepBenchResult result;
    std::vector<double> recorded, unrecorded, ratios;
    for (int32_t repeat = 0; repeat < bench.repeats; ++repeat) {
        const auto with = step_times(scenario, backends, backend, bench.level, &result, bench.profile);
        const auto without = step_times(scenario, backends, backend, trace::Level::off, nullptr, {});
        recorded.insert(recorded.end(), with.begin(), with.end());
        unrecorded.insert(unrecorded.end(), without.begin(), without.end());
        ratios.push_back(median(with) / median(without));
    }
    result.record_percent = 100 * (median(ratios) - 1);
    result.event_ns = measure_event_ns(bench.level);
    result.ms = median(recorded);
    result.ms_unrecorded = median(unrecorded);
    result.process_peak_bytes = process_peak_bytes();
    const int64_t sample_tokens = scenario.data_kind == "tokens" ? bench.model.seq : 1;
    result.tokens_per_s = result.ms > 0 ? 1e3 * double(bench.batch * sample_tokens) / result.ms : 0;
    return result;
}

}  // namespace meshscope::cli
