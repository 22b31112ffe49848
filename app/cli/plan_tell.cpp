#include "app/cli/plan_tell.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "app/cli/estimate_figures.h"
#include "core/base/digits.h"
#include "core/estimate/layout_figures.h"
#include "core/estimate/validation.h"
#include "core/scenario/plan_json.h"

namespace meshscope::cli {
namespace {

using namespace estimate;
using nlohmann::ordered_json;

double price_of(const PlanTelling& telling, const Layouted& each) {
    return *telling.price / 3600 / tokens_per_s_per_gpu(each) * 1e9;
}

bool beyond_positions(const Question& question, const PlanTelling& telling) {
    return telling.most_tokens && question.shape.seq > *telling.most_tokens;
}

ordered_json json_of(const Question& question, const Layouted& each, const PlanTelling& telling) {
    const Layout& l = each.job.layout;
    ordered_json parts = ordered_json::object();
    for (const StageMemory::Part& part : each.memory.parts) parts[std::string(part.name)] = part.bytes;
    const StepTime& t = each.time;
    const auto mfu = utilisation(question, each);
    ordered_json made{
        {"tp", l.tp},
        {"cp", l.cp},
        {"pp", l.pp},
        {"stages_per_rank", l.virtual_stages},
        {"dp_replicate", l.replicas},
        {"dp_shard", l.shards},
        {"zero", l.zero},
        {"sequence_parallel", l.sequence_parallel},
        {"micro_batch", each.job.micro_batch},
        {"micro_batches", each.job.micro_batches},
        {"recompute", word(each.job.recompute)},
        {"step_s", t.total_s()},
        {"tokens_per_s_per_gpu", tokens_per_s_per_gpu(each)},
        {"mfu", mfu ? ordered_json(*mfu) : ordered_json()},
        {"time",
         {{"compute_s", t.compute_s},
          {"recompute_s", t.recompute_s},
          {"tensor_s", t.tensor_s},
          {"bubble_s", t.bubble_s},
          {"send_s", t.send_s},
          {"data_s", t.data_s},
          {"optimizer_s", t.optimizer_s},
          {"host_s", t.host_s}}},
        {"communication",
         {{"exposed_s", t.exposed_s()}, {"hidden_s", t.hidden_s}, {"hidden_share", t.hidden_share()}}},
        {"allocated_bytes", each.memory.total()},
        {"needed_bytes", each.needed_bytes},
        {"memory", parts}};
    if (telling.price) made["price_per_billion_tokens"] = price_of(telling, each);
    return made;
}

/// The layouts of a list as a table: with their times, or, for those that do not fit, with what is too large.
Table table_of(const Question& question, const std::vector<const Layouted*>& layouts,
               const PlanTelling& telling, bool why, const CommandContext& context) {
    Table table;
    const auto text = [&](const char* id) { return context.text(id); };
    table.header = {"tp",
                    "cp",
                    "pp",
                    text("cli.plan.data"),
                    text("cli.plan.batch"),
                    text("cli.plan.recompute"),
                    text("cli.plan.memory")};
    table.right = {true, true, true, false, true, false, true};
    const bool peak = question.profile.bfloat16_peak_flops_per_s > 0;
    const auto column = [&](const std::string& head) {
        table.header.push_back(head);
        table.right.push_back(!why);
    };
    if (why) {
        column(text("cli.plan.largest"));
    } else {
        column(text("cli.plan.step"));
        column(text("cli.plan.tokens"));
        if (peak) column("MFU");
        for (const char* id : {"cli.plan.exposed", "cli.plan.hidden", "cli.plan.bubble"}) column(text(id));
        if (telling.price) column(text("cli.plan.price"));
    }
    for (const Layouted* each : layouts) {
        const Layout& l = each->job.layout;
        const StepTime& t = each->time;
        std::vector<std::string> cells{
            std::to_string(l.tp),
            std::to_string(l.cp),
            std::to_string(l.pp) + (l.virtual_stages > 1 ? "×" + std::to_string(l.virtual_stages) : ""),
            data_word(l),
            std::to_string(each->job.micro_batches) + "×" + std::to_string(each->job.micro_batch),
            text(("cli.plan.recompute." + std::string(word(each->job.recompute))).c_str()),
            estimated_bytes(each->needed_bytes) +
                (each->needed_bytes > kTightShare * question.memory_bytes && !why ? " !" : "")};
        if (why) {
            const StageMemory::Part part = largest_part(each->memory);
            cells.push_back(text(("estimate.memory." + std::string(part.name)).c_str()) + " " +
                            estimated_bytes(part.bytes));
        } else {
            cells.push_back(estimated_ms(t.total_s()));
            cells.push_back(fixed(tokens_per_s_per_gpu(*each), 0));
            if (peak) cells.push_back(percent(*utilisation(question, *each)));
            cells.push_back(percent(t.exposed_s() / t.total_s()));
            cells.push_back(t.exposed_s() + t.hidden_s > 0 ? percent(t.hidden_share()) : "–");
            cells.push_back(percent(t.bubble_s / t.total_s()));
            if (telling.price) cells.push_back(fixed(price_of(telling, *each), 0));
        }
        table.rows.push_back(std::move(cells));
    }
    return table;
}

/// The options that each remedy stands for: {"--gpus 16", "--lora 16 --base-bits 4"}.
std::vector<std::string> options_of(const std::vector<Remedy>& remedies) {
    std::vector<std::string> options;
    for (const Remedy& each : remedies) {
        std::string& text = options.emplace_back();
        const auto add = [&](const char* option, std::optional<int64_t> value) {
            if (value) text += (text.empty() ? "" : " ") + std::string(option) + " " + std::to_string(*value);
        };
        add("--gpus", each.gpus);
        add("--global-batch", each.global_batch);
        add("--seq", each.seq);
        add("--lora", each.lora_rank);
        add("--base-bits", each.base_bits);
    }
    return options;
}

std::string list_of(const std::vector<std::string>& options) {
    std::string list;
    for (const std::string& each : options) list += (list.empty() ? "" : "; ") + each;
    return list;
}

/// What was asked, and what of it needs a word.
std::vector<std::string> head_of(const Question& question, const Plan& made, const PlanTelling& telling,
                                 const CommandContext& context) {
    std::vector<std::string> lines{
        context.text("cli.plan.head", {{"parameters", grouped(std::to_string(parameters(question.shape)))},
                                       {"gpus", question.gpus},
                                       {"gpu", question.profile.name},
                                       {"memory", estimated_bytes(question.memory_bytes)},
                                       {"batch", question.global_batch},
                                       {"seq", question.shape.seq}})};
    if (const std::string options = options_text(question); !options.empty())
        lines.push_back(context.text("cli.plan.options", {{"options", options}}));
    if (beyond_positions(question, telling))
        lines.push_back(context.text("cli.plan.beyond_positions",
                                     {{"seq", question.shape.seq}, {"most", *telling.most_tokens}}));
    if (question.lora_rank > 0) {
        Job job;
        job.shape = question.shape;
        job.lora_rank = question.lora_rank;
        const double trained = static_cast<double>(parameters(job.shape)) * trained_share(job);
        lines.push_back(
            context.text(question.base_bits == 4 ? "cli.plan.qlora" : "cli.plan.lora",
                         {{"rank", question.lora_rank}, {"trained", grouped(fixed(trained, 0))}}));
    }
    lines.push_back(context.text(
        "cli.plan.tried", {{"tried", made.tried}, {"fitting", static_cast<int64_t>(made.fitting.size())}}));
    return lines;
}

Report::Part memory_of(const Layouted& first, const CommandContext& context) {
    Report::Part part{
        .heading = context.text("cli.plan.first_memory"), .before = {}, .table = {}, .after = {}};
    part.table.right = {false, true};
    for (const StageMemory::Part& each : first.memory.parts)
        part.table.rows.push_back(
            {context.text("estimate.memory." + std::string(each.name)), estimated_bytes(each.bytes)});
    part.table.rows.push_back({context.text("cli.plan.needed"), estimated_bytes(first.needed_bytes)});
    return part;
}

std::string sensitivity_of(const Question& question, const Layouted& first, const CommandContext& context) {
    const Sensitivity s = sensitivity(question, first.job);
    return context.text("cli.plan.sensitivity", {{"products", percent(s.products)},
                                                 {"memory", percent(s.memory)},
                                                 {"links", percent(s.links)},
                                                 {"network", percent(s.network)}});
}

/// How far such estimates were from published runs.
std::string accuracy_of(const Question& question, const CommandContext& context) {
    std::string gpu = question.profile.name;
    const Score found = accuracy(question.stack, gpu);
    const std::string stack(traits(question.stack).word);
    if (found.rows == 0) return context.text("cli.plan.unproven", {{"stack", stack}});
    std::string said = context.text(gpu.empty() ? "cli.plan.accuracy" : "cli.plan.accuracy_gpu",
                                    {{"rows", found.rows},
                                     {"stack", stack},
                                     {"gpu", gpu.empty() ? question.profile.name : gpu},
                                     {"mean", percent(found.mean_absolute)},
                                     {"worst", percent(found.worst)},
                                     {"run", found.worst_id}});
    if (const Score memory = memory_accuracy(question.stack); memory.rows > 0)
        said += ' ' + context.text("cli.plan.memory_accuracy", {{"rows", memory.rows},
                                                                {"mean", percent(memory.mean_absolute)},
                                                                {"worst", percent(memory.worst)}});
    if (question.lora_rank > 0) said += ' ' + context.text("cli.plan.no_lora_runs");
    return said;
}

std::string legend_of(const Question& question, const CommandContext& context) {
    const double peak = question.profile.bfloat16_peak_flops_per_s;
    std::string said = context.text("cli.plan.legend");
    if (peak > 0) said += " · " + context.text("cli.plan.legend_mfu", {{"peak", fixed(peak / 1e12, 0)}});
    return said;
}

}  // namespace

Report plan_report(const Question& question, const Plan& made, const PlanTelling& telling,
                   const CommandContext& context) {
    Report report;
    report.title = context.text("cli.plan.title", {{"model", telling.model},
                                                   {"gpus", question.gpus},
                                                   {"gpu", question.profile.name},
                                                   {"stack", std::string(traits(question.stack).word)}});
    Report::Part head;
    head.before = head_of(question, made, telling, context);
    if (made.fitting.empty()) {
        head.before.push_back(
            telling.remedies.empty()
                ? context.text("cli.plan.nothing_fits")
                : context.text("cli.plan.none_fits", {{"remedies", list_of(options_of(telling.remedies))}}));
        head.table = table_of(question, first_layouts(made.too_large, telling.top), telling, true, context);
        report.parts.push_back(std::move(head));
        return report;
    }
    head.table = table_of(question, first_layouts(made.fitting, telling.top), telling, false, context);
    head.after = {legend_of(question, context)};
    report.parts.push_back(std::move(head));
    report.parts.push_back({.heading = context.text("cli.plan.pareto"),
                            .before = {},
                            .table = table_of(question, made.pareto(), telling, false, context),
                            .after = {}});
    report.parts.push_back(memory_of(made.fitting.front(), context));
    report.parts.push_back(
        {.heading = "",
         .before = {},
         .table = {},
         .after = {sensitivity_of(question, made.fitting.front(), context), accuracy_of(question, context)}});
    return report;
}

ordered_json plan_json(const Question& question, const Plan& made, const PlanTelling& telling) {
    const double peak = question.profile.bfloat16_peak_flops_per_s;
    ordered_json out{{"parameters", parameters(question.shape)},
                     {"gpus", question.gpus},
                     {"gpus_per_node", question.in_node()},
                     {"gpu", question.profile.name},
                     {"memory_bytes", question.memory_bytes},
                     {"peak_flops_per_s", peak > 0 ? ordered_json(peak) : ordered_json()},
                     {"global_batch", question.global_batch},
                     {"seq", question.shape.seq},
                     {"stack", traits(question.stack).word},
                     {"compiled", question.compiled},
                     {"lora_rank", question.lora_rank},
                     {"base_bits", question.base_bits},
                     {"only", scenario::sizes_json(question.only)},
                     {"tried", made.tried},
                     {"fitting", made.fitting.size()}};
    if (telling.most_tokens) {
        out["max_position_embeddings"] = *telling.most_tokens;
        out["seq_beyond_positions"] = beyond_positions(question, telling);
    }
    const auto list = [&](const std::vector<const Layouted*>& layouts) {
        ordered_json found = ordered_json::array();
        for (const Layouted* each : layouts) found.push_back(json_of(question, *each, telling));
        return found;
    };
    out["layouts"] = list(first_layouts(made.fitting, telling.top));
    out["pareto"] = list(made.pareto());
    if (made.fitting.empty()) out["remedies"] = options_of(telling.remedies);
    if (made.fitting.empty()) out["nearest"] = list(first_layouts(made.too_large, telling.top));
    if (!made.fitting.empty()) {
        const Sensitivity s = sensitivity(question, made.fitting.front().job);
        out["sensitivity"] = {
            {"products", s.products}, {"memory", s.memory}, {"links", s.links}, {"network", s.network}};
    }
    out["question"] = scenario::question_json({telling.model, telling.spec, telling.most_tokens, question});
    return out;
}

}  // namespace meshscope::cli
