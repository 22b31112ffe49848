#include "core/scenario/estimated.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <sstream>
#include <utility>

#include "core/base/error.h"
#include "core/base/units.h"
#include "core/estimate/model_shape.h"
#include "core/estimate/published.h"
#include "core/scenario/model_config.h"
#include "core/time/read_profile.h"

namespace meshscope::scenario {
namespace {

using namespace estimate;

double tokens_of(const Job& job, double step_s) {
    return job.tokens_per_step() / step_s / static_cast<double>(job.layout.ranks());
}

/// A layout, whoever chose it, with what is estimated of it.
struct Estimate {
    const Job& job;
    const StepTime& time;
    const StageMemory& memory;
    const time::Profile& profile;
};

template <class From>
struct Figure {
    std::string_view name;
    double (*of)(const From&);
};

/// Model FLOPs utilisation needs a peak to be measured by.
double mfu_percent(const Job& job, const StepTime& time, const time::Profile& profile) {
    if (profile.bfloat16_peak_flops_per_s <= 0)
        throw InvalidArgument({"scenario.estimate_no_peak", {{"gpu", profile.name}}});
    return 100 * model_flops_utilisation(job, time, profile.bfloat16_peak_flops_per_s);
}

constexpr Figure<Estimate> kOfALayout[] = {
    {"parameters", [](const Estimate& e) { return static_cast<double>(parameters(e.job.shape)); }},
    {"table_percent",
     [](const Estimate& e) {
         const Shape& s = e.job.shape;
         return 100.0 * static_cast<double>((s.tied ? 1 : 2) * embedding_parameters(s)) /
                static_cast<double>(parameters(s));
     }},
    {"gflop_per_token", [](const Estimate& e) { return model_flops_per_token(e.job) / 1e9; }},
    {"step_ms", [](const Estimate& e) { return 1e3 * e.time.total_s(); }},
    {"tokens", [](const Estimate& e) { return tokens_of(e.job, e.time.total_s()); }},
    {"mfu_percent", [](const Estimate& e) { return mfu_percent(e.job, e.time, e.profile); }},
    {"exposed_percent", [](const Estimate& e) { return 100 * e.time.exposed_s() / e.time.total_s(); }},
    {"hidden_percent", [](const Estimate& e) { return 100 * e.time.hidden_share(); }},
    {"bubble_percent", [](const Estimate& e) { return 100 * e.time.bubble_s / e.time.total_s(); }},
    {"needed_gib", [](const Estimate& e) { return needed_bytes(e.memory.total(), e.job.stack) / kGiB; }},
    {"allocated_gib", [](const Estimate& e) { return e.memory.total() / kGiB; }},
    {"gpus", [](const Estimate& e) { return static_cast<double>(e.job.layout.ranks()); }},
    {"tp", [](const Estimate& e) { return static_cast<double>(e.job.layout.tp); }},
    {"cp", [](const Estimate& e) { return static_cast<double>(e.job.layout.cp); }},
    {"pp", [](const Estimate& e) { return static_cast<double>(e.job.layout.pp); }},
    {"stages", [](const Estimate& e) { return static_cast<double>(e.job.layout.virtual_stages); }},
    {"dp", [](const Estimate& e) { return static_cast<double>(e.job.layout.data_ranks()); }}};

constexpr Figure<Plan> kOfAPlan[] = {
    {"tried", [](const Plan& plan) { return static_cast<double>(plan.tried); }},
    {"fitting", [](const Plan& plan) { return static_cast<double>(plan.fitting.size()); }}};

/// Of a run whose source states a step's time.
constexpr Figure<PublishedRun> kOfASource[] = {
    {"published_ms", [](const PublishedRun& run) { return *run.step_ms; }},
    {"published_tokens", [](const PublishedRun& run) { return tokens_of(run.job, *run.step_ms / 1e3); }},
    {"published_mfu_percent", [](const PublishedRun& run) {
         StepTime measured;
         measured.compute_s = *run.step_ms / 1e3;
         return mfu_percent(run.job, measured, run.profile);
     }}};

/// Parts of the fullest GPU's memory.
constexpr std::pair<std::string_view, std::string_view> kParts[] = {{"weights_gib", "weights"},
                                                                    {"gradients_gib", "gradients"},
                                                                    {"optimizer_gib", "optimizer"},
                                                                    {"activations_gib", "activations"},
                                                                    {"logits_gib", "logits"}};

constexpr auto kEstimatedFigures = [] {
    std::array<std::string_view,
               std::size(kOfALayout) + std::size(kParts) + std::size(kOfAPlan) + std::size(kOfASource)>
        names;
    auto at = names.begin();
    for (const auto& each : kOfALayout) *at++ = each.name;
    for (const auto& [name, part] : kParts) *at++ = name;
    for (const auto& each : kOfAPlan) *at++ = each.name;
    for (const auto& each : kOfASource) *at++ = each.name;
    return names;
}();

template <class From, std::size_t N>
const Figure<From>* find_figure(const Figure<From> (&figures)[N], std::string_view name) {
    const auto* const found = std::ranges::find(figures, name, &Figure<From>::name);
    return found == std::end(figures) ? nullptr : found;
}

double of_layout(const std::string& figure, const Estimate& estimate) {
    if (const auto* found = find_figure(kOfALayout, figure)) return found->of(estimate);
    for (const auto& [name, part] : kParts)
        if (name == figure)
            for (const StageMemory::Part& each : estimate.memory.parts)
                if (each.name == part) return each.bytes / kGiB;
    // Under a pipeline the fullest GPU may be one without the head.
    throw InvalidArgument({"scenario.estimate_no_part", {{"figure", figure}}});
}

double of_published(const Estimated& asked) {
    const auto& runs = published_runs();
    const auto run = std::ranges::find(runs, asked.published, &PublishedRun::id);
    if (run == runs.end() || run->skipped)
        throw InvalidArgument({"scenario.estimate_no_run", {{"run", asked.published}}});
    if (const auto* found = find_figure(kOfASource, asked.figure)) {
        if (!run->step_ms)
            throw InvalidArgument(
                {"scenario.estimate_not_stated", {{"run", asked.published}, {"figure", asked.figure}}});
        return found->of(*run);
    }
    const StepTime time = step_time(run->job, Machine(run->profile, run->gpus_per_node));
    return of_layout(asked.figure, {run->job, time, peak_memory(run->job), run->profile});
}

}  // namespace

std::span<const std::string_view> estimated_figures() {
    return kEstimatedFigures;
}

bool is_published_figure(std::string_view figure) {
    return find_figure(kOfASource, figure) != nullptr;
}

bool has_published(std::string_view figure) {
    return find_figure(kOfAPlan, figure) == nullptr;
}

const Estimates::Made& Estimates::made(const Estimated& asked) {
    Question question;
    const ModelConfig model = read_model_config(asked.config);
    const auto shape = shape_of(model.spec);
    if (!shape) throw InvalidArgument({"scenario.estimate_no_transformer", {{"kind", model.model_type}}});
    question.shape = *shape;
    question.stack = parse_stack(asked.stack).value_or(Stack::torchtitan);
    question.gpus = asked.gpus;
    question.gpus_per_node = asked.gpus_per_node;
    question.lora_rank = asked.lora;
    question.base_bits = asked.base_bits;
    question.profile = asked.gpu ? *asked.gpu : time::named_profile("h100");
    question.only = asked.only;
    question = settled(std::move(question), {.seq = asked.seq, .global_batch = asked.global_batch});
    std::ostringstream key;
    key << asked.config << '\n'
        << question.profile.name << '\n'
        << asked.stack << '\n'
        << question.shape.seq << ' ' << question.gpus << ' ' << question.gpus_per_node << ' '
        << question.global_batch << ' ' << question.lora_rank << ' ' << question.base_bits;
    for (const SizeKey& size : size_keys()) key << ' ' << (asked.only.*size.size).value_or(-1);
    key << ' ' << (asked.only.recompute ? static_cast<int>(*asked.only.recompute) : -1);
    const auto known = std::ranges::find(made_, key.str(), &Made::key);
    if (known != made_.end()) return *known;
    Plan made = plan(question);
    return made_.emplace_back(Made{key.str(), std::move(question), std::move(made)});
}

double Estimates::value(const Estimated& asked) {
    if (!asked.published.empty()) return of_published(asked);
    const Made& known = made(asked);
    if (const auto* found = find_figure(kOfAPlan, asked.figure)) return found->of(known.plan);
    // A plan that tried nothing was refused.
    const auto& list = known.plan.fitting.empty() ? known.plan.too_large : known.plan.fitting;
    const Layouted& first = list.front();
    return of_layout(asked.figure, {first.job, first.time, first.memory, known.question.profile});
}

}  // namespace meshscope::scenario
