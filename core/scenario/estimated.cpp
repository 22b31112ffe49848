#include "core/scenario/estimated.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <sstream>

#include "core/base/error.h"
#include "core/estimate/model_shape.h"
#include "core/estimate/published.h"
#include "core/scenario/model_config.h"
#include "core/time/read_profile.h"

namespace meshscope::scenario {
namespace {

using namespace estimate;

constexpr double kGiB = 1024.0 * 1024 * 1024;

constexpr std::array<std::string_view, 27> kEstimatedFigures{"parameters",
                                                             "table_percent",
                                                             "gflop_per_token",
                                                             "tried",
                                                             "fitting",
                                                             "step_ms",
                                                             "tokens",
                                                             "mfu_percent",
                                                             "exposed_percent",
                                                             "hidden_percent",
                                                             "bubble_percent",
                                                             "needed_gib",
                                                             "allocated_gib",
                                                             "weights_gib",
                                                             "gradients_gib",
                                                             "optimizer_gib",
                                                             "activations_gib",
                                                             "logits_gib",
                                                             "gpus",
                                                             "tp",
                                                             "cp",
                                                             "pp",
                                                             "stages",
                                                             "dp",
                                                             "published_ms",
                                                             "published_tokens",
                                                             "published_mfu_percent"};

double tokens_of(const Job& job, double step_s) {
    return job.tokens_per_step() / step_s / static_cast<double>(job.layout.ranks());
}

double part_of(const StageMemory& memory, std::string_view name) {
    for (const StageMemory::Part& part : memory.parts)
        if (part.name == name) return part.bytes;
    return 0;
}

/// Figures of a job, whoever chose it; nothing for others.
std::optional<double> of_job(std::string_view figure, const Job& job, const StepTime& time,
                             const StageMemory& memory, double peak_flops_per_s) {
    const Layout& l = job.layout;
    const std::pair<std::string_view, double> all[] = {
        {"parameters", static_cast<double>(parameters(job.shape)) / 1e9},
        {"table_percent",
         100.0 * static_cast<double>((job.shape.tied ? 1 : 2) * embedding_parameters(job.shape)) /
             static_cast<double>(parameters(job.shape))},
        {"gflop_per_token", model_flops_per_token(job) / 1e9},
        {"step_ms", 1e3 * time.total_s()},
        {"tokens", tokens_of(job, time.total_s())},
        {"mfu_percent", 100 * model_flops_utilisation(job, time, peak_flops_per_s)},
        {"exposed_percent", 100 * time.exposed_s() / time.total_s()},
        {"hidden_percent", 100 * time.hidden_share()},
        {"bubble_percent", 100 * time.bubble_s / time.total_s()},
        {"needed_gib", needed_bytes(memory.total(), job.stack) / kGiB},
        {"allocated_gib", memory.total() / kGiB},
        {"gpus", static_cast<double>(l.ranks())},
        {"tp", static_cast<double>(l.tp)},
        {"cp", static_cast<double>(l.cp)},
        {"pp", static_cast<double>(l.pp)},
        {"stages", static_cast<double>(l.virtual_stages)},
        {"dp", static_cast<double>(l.data_ranks())}};
    for (const auto& [name, value] : all)
        if (name == figure) return value;
    constexpr std::string_view kPart = "_gib";
    if (figure.ends_with(kPart))
        return part_of(memory, figure.substr(0, figure.size() - kPart.size())) / kGiB;
    return std::nullopt;
}

double of_published(const Estimated& asked) {
    const auto& runs = published_runs();
    const auto run = std::ranges::find(runs, asked.published, &PublishedRun::id);
    if (run == runs.end() || run->skipped)
        throw InvalidArgument({"scenario.estimate_no_run", {{"run", asked.published}}});
    const double peak = run->profile.bfloat16_peak_flops_per_s;
    const bool needs_step = is_published_figure(asked.figure);
    if (needs_step && !run->step_ms)
        throw InvalidArgument(
            {"scenario.estimate_not_stated", {{"run", asked.published}, {"figure", asked.figure}}});
    const double step_s = run->step_ms.value_or(0) / 1e3;
    if (asked.figure == "published_ms") return 1e3 * step_s;
    if (asked.figure == "published_tokens") return tokens_of(run->job, step_s);
    if (asked.figure == "published_mfu_percent") {
        StepTime measured;
        measured.compute_s = step_s;
        return 100 * model_flops_utilisation(run->job, measured, peak);
    }
    const StepTime time = step_time(run->job, Machine(run->profile, run->gpus_per_node));
    const auto value = of_job(asked.figure, run->job, time, peak_memory(run->job), peak);
    return value.value_or(0);
}

}  // namespace

std::span<const std::string_view> estimated_figures() {
    return kEstimatedFigures;
}

bool is_published_figure(std::string_view figure) {
    return figure.starts_with("published_");
}

bool has_published(std::string_view figure) {
    return figure != "tried" && figure != "fitting";
}

const Estimates::Made& Estimates::made(const Estimated& asked) {
    Question question;
    const auto shape = shape_of(read_model_config(asked.config).spec);
    if (!shape) throw InvalidArgument({"scenario.estimate_no_layout", {}});
    question.shape = *shape;
    if (asked.seq) question.shape.seq = *asked.seq;
    question.stack = parse_stack(asked.stack).value_or(Stack::torchtitan);
    question.gpus = asked.gpus;
    question.gpus_per_node = std::min(asked.gpus_per_node, asked.gpus);
    question.global_batch = asked.global_batch.value_or(asked.gpus);
    question.lora_rank = asked.lora;
    question.base_bits = asked.base_bits;
    question.profile = asked.gpu ? *asked.gpu : time::named_profile("h100");
    question.memory_bytes = static_cast<double>(question.profile.memory_bytes);
    question.only = asked.only;
    const auto size = [](const std::optional<int64_t>& wanted) { return wanted.value_or(-1); };
    std::ostringstream key;
    key << asked.config << '\n'
        << question.profile.name << '\n'
        << asked.stack << '\n'
        << question.shape.seq << ' ' << question.gpus << ' ' << question.gpus_per_node << ' '
        << question.global_batch << ' ' << question.lora_rank << ' ' << question.base_bits << ' '
        << size(asked.only.tp) << ' ' << size(asked.only.cp) << ' ' << size(asked.only.pp) << ' '
        << size(asked.only.stages) << ' ' << size(asked.only.zero) << ' ' << size(asked.only.micro) << ' '
        << (asked.only.recompute ? static_cast<int>(*asked.only.recompute) : -1);
    const auto known = std::ranges::find(made_, key.str(), &Made::key);
    if (known != made_.end()) return *known;
    Plan made = plan(question);
    return made_.emplace_back(Made{key.str(), std::move(question), std::move(made)});
}

double Estimates::value(const Estimated& asked) {
    if (!asked.published.empty()) return of_published(asked);
    const Made& known = made(asked);
    if (asked.figure == "tried") return static_cast<double>(known.plan.tried);
    if (asked.figure == "fitting") return static_cast<double>(known.plan.fitting.size());
    for (const auto* list : {&known.plan.fitting, &known.plan.too_large})
        if (!list->empty())
            return of_job(asked.figure, list->front().job, list->front().time, list->front().memory,
                          known.question.profile.bfloat16_peak_flops_per_s)
                .value_or(0);
    throw InvalidArgument({"scenario.estimate_no_layout", {}});
}

}  // namespace meshscope::scenario
