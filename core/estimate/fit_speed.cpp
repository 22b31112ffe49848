#include "core/estimate/fit_speed.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "core/estimate/step_time.h"

namespace meshscope::estimate {
namespace {

double estimated_ms(const PublishedRun& run, double speed) {
    return 1e3 * step_time(run.job, Machine(run.profile, run.gpus_per_node, speed)).total_s();
}

std::optional<Message> why_left_out(const PublishedRun& run) {
    if (run.skipped) return run.skipped;
    if (!run.step_ms) return Message{"estimate.fit.no_time", {}};
    if (run.launch_bound) return Message{"estimate.fit.launch_bound", {}};
    return {};
}

}  // namespace

double own_speed(const PublishedRun& run) {
    double low = 0.25, high = 4;
    for (int i = 0; i < 30; ++i) {
        const double middle = std::sqrt(low * high);
        (estimated_ms(run, middle) > *run.step_ms ? low : high) = middle;
    }
    return low;
}

double fitted_speed(std::span<const PublishedRun* const> runs) {
    std::vector<double> speeds;
    for (const PublishedRun* run : runs) speeds.push_back(own_speed(*run));
    std::ranges::sort(speeds);
    const std::size_t n = speeds.size();
    const double middle = n % 2 == 1 ? speeds[n / 2] : std::sqrt(speeds[n / 2 - 1] * speeds[n / 2]);
    return std::round(middle * 1000) / 1000;
}

double SpeedFit::mean_error() const {
    double sum = 0;
    for (const FittedRun& run : runs) sum += std::abs(run.error());
    return sum / static_cast<double>(runs.size());
}

double SpeedFit::worst_error() const {
    double worst = 0;
    for (const FittedRun& run : runs)
        if (std::abs(run.error()) > std::abs(worst)) worst = run.error();
    return worst;
}

SpeedFit fit_speed(std::span<const PublishedRun> runs) {
    SpeedFit made;
    std::vector<const PublishedRun*> used;
    for (const PublishedRun& run : runs) {
        if (std::optional<Message> why = why_left_out(run))
            made.left_out.push_back({run.id, std::move(*why)});
        else
            used.push_back(&run);
    }
    if (used.empty()) throw InvalidArgument({"estimate.fit.no_runs", {}});
    made.speed = fitted_speed(used);
    for (const PublishedRun* run : used)
        made.runs.push_back({run->id, *run->step_ms, estimated_ms(*run, made.speed)});
    return made;
}

time::Profile with_speed(time::Profile profile, double speed) {
    if (profile.bfloat16_peak_flops_per_s == 0)
        profile.bfloat16_peak_flops_per_s = profile.bfloat16_flops_per_s;
    for (double time::Profile::*of : {&time::Profile::flops_per_s, &time::Profile::bfloat16_flops_per_s,
                                      &time::Profile::float16_flops_per_s, &time::Profile::tf32_flops_per_s,
                                      &time::Profile::fp8_flops_per_s})
        profile.*of *= speed;
    return profile;
}

}  // namespace meshscope::estimate
