#include "app/cli/bench_profile.h"

#include <algorithm>
#include <limits>
#include <map>
#include <vector>

#include "app/cli/bench_collectives.h"
#include "app/cli/bench_step.h"
#include "app/cli/bench_timing.h"
#include "core/base/cores.h"
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
    /// By model: a step beyond its kernels, divided by their number.
    std::map<std::string, std::vector<double>> gaps_ns;
};

/// What one rank trains: each kind of model small, where kernels meet the caches and the launch, and large.
/// The mlp has products alone at three sizes.
std::vector<StepBench> models() {
    std::vector<StepBench> all;
    const auto add = [&](nn::ModelSpec model, int64_t batch) {
        model.layers = 2;
        model.hidden = 4 * model.dim;
        StepBench step;
        step.model = std::move(model);
        step.batch = batch;
        step.steps = 10;
        all.push_back(std::move(step));
    };
    for (const int64_t dim : {64, 256, 512}) add({.kind = "mlp", .dim = dim}, 128);
    for (const char* kind : {"gpt", "llama"}) {
        add({.kind = kind, .dim = 64, .vocab = 256, .seq = 32, .heads = 4}, 8);
        add({.kind = kind, .dim = 256, .vocab = 1024, .seq = 128, .heads = 8}, 8);
    }
    return all;
}

void train(const ProfileBench& bench, const StepBench& step, const run::Backends& backends,
           Measured& measured) {
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
    std::vector<double>& gaps = measured.gaps_ns[step.model.kind + std::to_string(step.model.dim)];
    for (const auto& [number, total] : compute) {
        const time::Interval span = time::span_of_step(*result.trace, clock, number);
        gaps.push_back((static_cast<double>(span.end_ns - span.begin_ns) - total.first) /
                       static_cast<double>(total.second));
    }
}

bool is_linear(const std::string& kernel) {
    return kernel.starts_with("linear");
}

void set_compute(const Measured& measured, time::Profile& profile) {
    // In the model where least stands between kernels: in large ones memory is waited for there as well,
    // which does not go with the number of kernels.
    double launch_ns = std::numeric_limits<double>::max();
    for (const auto& [model, gaps] : measured.gaps_ns) launch_ns = std::min(launch_ns, median(gaps));
    profile.launch_ns = static_cast<int64_t>(std::max(0.0, launch_ns));
    // Linear layers: a line through the medians by size, least squares weighted by 1/time², so that small
    // ones count too.
    double w = 0, x = 0, y = 0, xx = 0, xy = 0;
    for (const auto& [work, calls] : measured.calls) {
        const double ns = median(calls.ns);
        if (!(ns > 0) || !is_linear(work.name)) continue;
        const double weight = 1 / (ns * ns), f = static_cast<double>(work.flops);
        w += weight;
        x += weight * f;
        y += weight * ns;
        xx += weight * f * f;
        xy += weight * f * ns;
    }
    const double slope = (w * xy - x * y) / (w * xx - x * x);  // nanoseconds an operation
    profile.flops_per_s = 1e9 / slope;
    profile.half_speed_flops = std::max(0.0, (y - slope * x) / w / slope);
    // Attention: the best speeds seen, by operations and by bytes, so that neither term claims more than what
    // any size took. All others: by bytes; operations are not counted again.
    std::map<std::string, std::pair<double, double>> others;  // bytes and seconds
    double bytes = 0, seconds = 0;
    for (const auto& [work, calls] : measured.calls) {
        const double took = median(calls.ns) / 1e9;
        if (!(took > 0) || is_linear(work.name)) continue;
        if (time::is_product(work.name)) {
            time::KernelSpeed& own = profile.kernels[work.name];
            const double flops = static_cast<double>(work.flops) + profile.half_speed_flops;
            own.flops_per_s = std::max(own.flops_per_s, flops / took);
            own.bytes_per_s = std::max(own.bytes_per_s, static_cast<double>(work.bytes) / took);
        } else {
            others[work.name].first += static_cast<double>(work.bytes);
            others[work.name].second += took;
        }
    }
    for (const auto& [name, total] : others) {
        if (total.first <= 0 || total.second <= 0) continue;
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
        for (const StepBench& step : models()) train(bench, step, backends, measured);
    set_compute(measured, profile);
    set_links(bench, backends, profile);
    const auto cores = usable_cores();
    profile.overlap =
        comm::StreamExecutor::choose_mode(2, cores) == comm::StreamExecutor::Mode::helper_thread;
    return profile;
}

}  // namespace meshscope::cli
