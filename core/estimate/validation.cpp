#include "core/estimate/validation.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>
#include <utility>

#include "core/estimate/fit_speed.h"

namespace meshscope::estimate {
namespace {

/// Models of this width and less are toys, whose memory is buffers.
constexpr int64_t kToyDim = 1024;

using Group = std::tuple<std::string, Stack, bool>;

bool counts_for_time(const PublishedRun& run) {
    return !run.skipped && run.step_ms && !run.launch_bound;
}

/// FLOPs of a step on one GPU: the more, the less anything but products matters.
double work(const PublishedRun& run) {
    return model_flops_per_token(run.job.shape) * run.job.tokens_per_step() /
           static_cast<double>(run.job.layout.ranks());
}

/// Three of a group's rows: a third, a half and two thirds of the way through their order by work.
std::vector<const PublishedRun*> rows_to_fit(std::vector<const PublishedRun*> rows) {
    std::vector<const PublishedRun*> tier_a;
    std::ranges::copy_if(rows, std::back_inserter(tier_a),
                         [](const PublishedRun* run) { return run->tier == "A"; });
    if (!tier_a.empty()) rows = std::move(tier_a);
    std::ranges::stable_sort(rows, {}, [](const PublishedRun* run) { return work(*run); });
    const std::size_t n = rows.size();
    std::vector<const PublishedRun*> three;
    for (const std::size_t at : {n / 3, n / 2, n * 2 / 3})
        if (std::ranges::find(three, rows[at]) == three.end()) three.push_back(rows[at]);
    return three;
}

std::vector<Fit> fit_groups(std::span<const PublishedRun> runs) {
    std::map<Group, std::vector<const PublishedRun*>> groups;
    for (const PublishedRun& run : runs)
        if (counts_for_time(run)) groups[{run.gpu, run.job.stack, run.job.deterministic}].push_back(&run);
    std::vector<Fit> fits;
    for (const auto& [group, rows] : groups) {
        const auto three = rows_to_fit(rows);
        Fit& fit = fits.emplace_back();
        std::tie(fit.gpu, fit.stack, fit.deterministic) = group;
        fit.speed = fitted_speed(three);
        for (const PublishedRun* run : three) fit.rows.push_back(run->id);
    }
    return fits;
}

/// What the allocator reserves, and what the process takes, of what is allocated.
double as_printed(double allocated, const PublishedRun& run) {
    if (run.memory_kind == MemoryKind::reserved) return allocated * traits(run.job.stack).reserved_share;
    if (run.memory_kind == MemoryKind::whole_process) return needed_bytes(allocated, run.job.stack);
    return allocated;
}

Compared compare(const PublishedRun& run, const Fit* fit) {
    Compared made;
    made.run = &run;
    if (run.skipped) return made;
    made.fitted = fit != nullptr && std::ranges::find(fit->rows, run.id) != fit->rows.end();
    const Machine machine(run.profile, run.gpus_per_node, fit == nullptr ? 1 : fit->speed);
    made.time = step_time(run.job, machine);
    made.memory = run.last_stage ? stage_memory(run.job, run.job.layout.pp - 1) : peak_memory(run.job);
    if (run.step_ms) made.time_error = 1e3 * made.time.total_s() / *run.step_ms - 1;
    made.memory_bytes = as_printed(made.memory.total(), run);
    if (run.memory_bytes) made.memory_error = made.memory_bytes / *run.memory_bytes - 1;
    return made;
}

/// Places of values in their order, from 0.
std::vector<double> ranks_of(const std::vector<double>& values) {
    std::vector<std::size_t> order(values.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, {}, [&](std::size_t i) { return values[i]; });
    std::vector<double> places(values.size());
    for (std::size_t i = 0; i < order.size(); ++i) places[order[i]] = static_cast<double>(i);
    return places;
}

double spearman_of(const std::vector<double>& a, const std::vector<double>& b) {
    const auto n = static_cast<double>(a.size());
    if (n < 3) return 0;
    const std::vector<double> x = ranks_of(a), y = ranks_of(b);
    double sum = 0;
    for (std::size_t i = 0; i < x.size(); ++i) sum += (x[i] - y[i]) * (x[i] - y[i]);
    return 1 - 6 * sum / (n * (n * n - 1));
}

}  // namespace

Validation validate(std::span<const PublishedRun> runs, bool fit) {
    Validation made;
    if (fit) made.fits = fit_groups(runs);
    for (const PublishedRun& run : runs) {
        const auto own = std::ranges::find_if(made.fits, [&](const Fit& each) {
            return std::tie(each.gpu, each.stack, each.deterministic) ==
                   std::tie(run.gpu, run.job.stack, run.job.deterministic);
        });
        made.rows.push_back(compare(run, own == made.fits.end() ? nullptr : &*own));
    }
    return made;
}

Score score(std::span<const Compared> rows, std::optional<double> Compared::*error,
            bool (*of)(const Compared&)) {
    Score made;
    std::vector<double> estimated, measured;
    for (const Compared& each : rows) {
        if (!(each.*error) || (of != nullptr && !of(each))) continue;
        const double e = *(each.*error);
        ++made.rows;
        made.mean_absolute += std::abs(e);
        made.bias += e;
        if (std::abs(e) > std::abs(made.worst) || made.worst_id.empty())
            made.worst = e, made.worst_id = each.run->id;
        const Job& job = each.run->job;
        const double samples =
            static_cast<double>(job.micro_batch * job.micro_batches * job.layout.data_ranks());
        measured.push_back(each.run->step_ms.value_or(1) / samples);
        estimated.push_back(each.time.total_s() / samples);
    }
    if (made.rows == 0) return made;
    made.mean_absolute /= static_cast<double>(made.rows);
    made.bias /= static_cast<double>(made.rows);
    made.spearman = spearman_of(estimated, measured);
    return made;
}

Score accuracy(Stack stack, std::string& gpu) {
    constexpr std::size_t kFew = 3;
    std::vector<PublishedRun> own, of_gpu;
    for (const PublishedRun& run : published_runs()) {
        if (!counts_for_time(run) || run.job.stack != stack || run.job.deterministic) continue;
        own.push_back(run);
        if (run.gpu == gpu) of_gpu.push_back(run);
    }
    if (of_gpu.size() < kFew) gpu.clear();
    const std::vector<PublishedRun>& runs = gpu.empty() ? own : of_gpu;
    const Validation made = validate(runs, false);
    return score(made.rows, &Compared::time_error);
}

Score memory_accuracy(Stack stack) {
    std::vector<PublishedRun> runs;
    for (const PublishedRun& run : published_runs())
        if (!run.skipped && run.memory_bytes && run.memory_kind != MemoryKind::unknown &&
            run.job.stack == stack && run.job.shape.dim > kToyDim)
            runs.push_back(run);
    const Validation made = validate(runs, false);
    return score(made.rows, &Compared::memory_error);
}

}  // namespace meshscope::estimate
