#include "app/cli/bench_profile.h"

#include <algorithm>
#include <map>
#include <thread>
#include <vector>

#include "app/cli/bench_collectives.h"
#include "app/cli/bench_step.h"
#include "app/cli/bench_timing.h"
#include "core/comm/stream_executor.h"
#include "core/time/clock.h"

namespace meshscope::cli {
namespace {

/// Every call of one kernel with the same work.
struct Calls {
    std::vector<double> ns;
};
struct Work {
    std::string name;
    int64_t flops = 0, bytes = 0;
    auto operator<=>(const Work&) const = default;
};

/// What single-rank training told.
struct Measured {
    std::map<Work, Calls> calls;
    std::vector<double> gap_ns;  ///< a step beyond its kernels, divided by their number
};

void train(const ProfileBench& bench, int64_t dim, const run::Backends& backends, Measured& measured) {
    StepBench step;
    step.model.kind = "mlp";
    step.model.dim = dim;
    step.model.hidden = 4 * dim;
    step.model.layers = 2;
    step.batch = 128;
    step.steps = 10;
    const scenario::Scenario scenario = step_bench_scenario(step);
    run::RunOptions options;
    options.backend = bench.backend;
    options.level = trace::Level::collectives;
    const run::RunResult result = run::run_scenario(scenario, backends, options);
    std::map<int32_t, std::pair<double, int64_t>> compute;  // step → nanoseconds and kernels
    for (const trace::Event& e : result.trace->ranks[0].events) {
        if (e.kind != trace::EventKind::compute || e.step < kWarmUpSteps) continue;
        const auto ns = static_cast<double>(e.t_end_ns - e.t_begin_ns);
        measured.calls[{std::string(result.trace->text(e.name)), e.flops, e.touched_bytes}].ns.push_back(ns);
        compute[e.step].first += ns;
        ++compute[e.step].second;
    }
    const time::Clock clock = time::measured(*result.trace);
    for (const auto& [number, total] : compute) {
        const time::Interval span = time::span_of_step(*result.trace, clock, number);
        measured.gap_ns.push_back((static_cast<double>(span.end_ns - span.begin_ns) - total.first) /
                                  static_cast<double>(total.second));
    }
}

bool is_product(const std::string& kernel) {
    return kernel.starts_with("linear") || kernel.starts_with("attention");
}

void set_compute(const Measured& measured, time::Profile& profile) {
    profile.launch_ns = static_cast<int64_t>(std::max(0.0, median(measured.gap_ns)));
    // Products: a line through the medians by size, least squares weighted by 1/time², so that small ones
    // count too.
    double w = 0, x = 0, y = 0, xx = 0, xy = 0;
    std::map<std::string, std::pair<double, double>> others;  // bytes and seconds
    for (const auto& [work, calls] : measured.calls) {
        const double ns = median(calls.ns);
        if (!(ns > 0)) continue;
        if (is_product(work.name)) {
            const double weight = 1 / (ns * ns), f = static_cast<double>(work.flops);
            w += weight;
            x += weight * f;
            y += weight * ns;
            xx += weight * f * f;
            xy += weight * f * ns;
        } else {
            others[work.name].first += static_cast<double>(work.bytes);
            others[work.name].second += ns / 1e9;
        }
    }
    const double slope = (w * xy - x * y) / (w * xx - x * x);  // nanoseconds an operation
    profile.flops_per_s = 1e9 / slope;
    profile.half_speed_flops = std::max(0.0, (y - slope * x) / w / slope);
    double bytes = 0, seconds = 0;
    for (const auto& [name, total] : others) {
        if (total.first <= 0 || total.second <= 0) continue;
        // Their own speed is all of their time: operations are not counted again.
        profile.kernels[name] = {1e18, total.first / total.second};
        bytes += total.first;
        seconds += total.second;
    }
    profile.memory_bytes_per_s = seconds > 0 ? bytes / seconds : 1e10;
}

void set_links(const ProfileBench& bench, const run::Backends& backends, time::Profile& profile) {
    constexpr int64_t kSmall = 64, kLarge = int64_t{4} << 20;
    CollectivesBench collectives;
    collectives.backend = bench.backend;
    collectives.ranks = 2;
    collectives.sizes = {kSmall, kLarge};
    collectives.algorithm = Algorithm::direct;
    collectives.ops = {CollectiveOp::all_gather, CollectiveOp::reduce_scatter};
    std::map<std::pair<CollectiveOp, int64_t>, double> ns;
    run_collectives_bench(collectives, backends, [&](const CollectivesBenchRow& row) {
        ns[{row.op, row.bytes}] = row.us * 1e3;
    });
    const double small = ns[{CollectiveOp::all_gather, kSmall}],
                 large = ns[{CollectiveOp::all_gather, kLarge}];
    const double half = static_cast<double>(kLarge) / 2;  // what travels between two ranks
    profile.latency_inside_ns = static_cast<int64_t>(std::max(1.0, small));
    profile.bandwidth_inside_bytes_per_s = half / std::max(1.0, large - small) * 1e9;
    const double sums = ns[{CollectiveOp::reduce_scatter, kLarge}] - large;
    if (sums > 0) profile.reduce_bytes_per_s = half / sums * 1e9;
    profile.latency_between_ns = profile.latency_inside_ns;
    profile.bandwidth_between_bytes_per_s = profile.bandwidth_inside_bytes_per_s;
}

}  // namespace

time::Profile measure_profile(const ProfileBench& bench, const run::Backends& backends) {
    time::Profile profile;
    profile.name = bench.name;
    Measured measured;
    for (int32_t repeat = 0; repeat < bench.repeats; ++repeat)
        for (const int64_t dim : {64, 256, 512}) train(bench, dim, backends, measured);
    set_compute(measured, profile);
    set_links(bench, backends, profile);
    const auto cores = static_cast<int32_t>(std::thread::hardware_concurrency());
    profile.overlap =
        comm::StreamExecutor::choose_mode(2, cores) == comm::StreamExecutor::Mode::helper_thread;
    return profile;
}

}  // namespace meshscope::cli
