#include "app/cli/plan_command.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>
#include <utility>

#include "app/cli/integer_option.h"
#include "app/cli/mesh_request.h"
#include "app/cli/model_argument.h"
#include "app/cli/outputs.h"
#include "app/cli/plan_tell.h"
#include "app/cli/report.h"
#include "app/cli/usage.h"
#include "core/base/cause.h"
#include "core/base/error.h"
#include "core/base/joined.h"
#include "core/base/json_text.h"
#include "core/base/replace_file.h"
#include "core/base/shell_word.h"
#include "core/base/units.h"
#include "core/estimate/layout_figures.h"
#include "core/estimate/model_shape.h"
#include "core/estimate/plan.h"
#include "core/scenario/layout_scenario.h"
#include "core/scenario/model_config.h"
#include "core/scenario/plan_file.h"

namespace meshscope::cli {
namespace {

using namespace estimate;

constexpr int64_t kMostListed = 1000;

struct PlanArguments {
    std::string model, gpu = scenario::kUsualGpu, stack = "torchtitan", only, report, scenario;
    int64_t gpus = scenario::kUsualGpus, gpus_per_node = 8, lora = 0, base_bits = 16, top = 10;
    std::optional<int64_t> seq, global_batch;
    std::optional<double> price, memory_gib;
    bool eager = false, json = false, force = false;
};

void expect(const char* option, int64_t value, int64_t least, int64_t most) {
    if (value < least || value > most)
        throw UsageError(
            {"cli.sampler.out_of_range",
             {{"option", std::string(option)}, {"value", value}, {"least", least}, {"most", most}}});
}

/// The same of a figure; NaN is in no range.
void expect(const char* option, std::optional<double> value, double least, double most) {
    if (value && !(*value >= least && *value <= most))
        throw UsageError(
            {"cli.plan.out_of_range",
             {{"option", std::string(option)}, {"value", *value}, {"least", least}, {"most", most}}});
}

Stack stack_of(const std::string& word) {
    if (const auto stack = parse_stack(word)) return *stack;
    throw UsageError({"cli.plan.unknown_stack", {{"stack", word}, {"known", joined(stack_words())}}});
}

/// "tp=8,recompute=none", each once.
Sizes sizes_of(const std::string& words) {
    Sizes sizes;
    for (const std::string& part : split(words, ',')) {
        const auto refuse = [&](const char* id) { throw UsageError({id, {{"part", part}}}); };
        if (part.empty()) throw UsageError({"cli.plan.only_empty", {{"sizes", words}}});
        const std::size_t sign = std::min(part.find('='), part.size());
        const std::string_view key = std::string_view(part).substr(0, sign),
                               value = std::string_view(part).substr(std::min(sign + 1, part.size()));
        if (key == "recompute") {
            if (sizes.recompute) refuse("cli.plan.only_twice");
            sizes.recompute = parse_recompute(value);
            if (!sizes.recompute) refuse("cli.plan.only");
            continue;
        }
        const auto known = std::ranges::find(size_keys(), key, &SizeKey::name);
        int64_t number = 0;
        const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
        if (known == size_keys().end() || error != std::errc() || end != value.data() + value.size())
            refuse("cli.plan.only");
        if (sizes.*known->size) refuse("cli.plan.only_twice");
        sizes.*known->size = number;
    }
    return sizes;
}

Question question_of(const PlanArguments& options, PlanTelling& telling) {
    expect("--gpus", options.gpus, 1, kMostGpus);
    expect("--gpus-per-node", options.gpus_per_node, 1, kMostGpus);
    expect("--top", options.top, 1, kMostListed);
    expect("--lora", options.lora, 0, kMostLoraRank);
    expect("--price", options.price, 1e-6, 1e6);
    expect("--memory-gib", options.memory_gib, 0.001, 1e6);
    if (options.seq) expect("--seq", *options.seq, 1, nn::kMostSize);
    if (options.global_batch) expect("--global-batch", *options.global_batch, 1, kMostBatch);
    Question question;
    question.stack = stack_of(options.stack);
    question.compiled = !options.eager;
    question.lora_rank = options.lora;
    question.base_bits = options.base_bits;
    question.only = sizes_of(options.only);
    question.gpus = options.gpus;
    question.gpus_per_node = options.gpus_per_node;
    const ModelArgument model = model_argument(options.model);
    const auto shape = shape_of(model.spec);
    if (!shape) throw UsageError({"cli.plan.no_transformer", {{"kind", model.type}}});
    question.shape = *shape;
    telling = {.model = options.model,
               .top = options.top,
               .price = options.price,
               .most_tokens = model.most_tokens,
               .spec = model.spec};
    question.profile = profile_option(options.gpu);
    Stated stated{.seq = options.seq, .global_batch = options.global_batch};
    if (options.memory_gib) stated.memory_bytes = *options.memory_gib * kGiB;
    try {
        return settled(std::move(question), stated);
    } catch (const InvalidArgument& error) {
        throw UsageError(error.message());
    }
}

/// What the plan reads, which no report may overwrite.
std::vector<std::string> inputs_of_plan(const PlanArguments& options) {
    std::vector<std::string> inputs;
    const std::string config(scenario::kConfigPrefix);
    inputs.push_back(options.model.starts_with(config) ? options.model.substr(config.size()) : options.model);
    if (options.gpu.ends_with(".toml")) inputs.push_back(options.gpu);
    return inputs;
}

/// How a scenario in a file names a profile of one's own: relative to its folder. "": it is the program's.
std::string profile_beside(const std::string& gpu, const std::string& scenario) {
    namespace fs = std::filesystem;
    if (!gpu.ends_with(".toml")) return "";
    const fs::path whole = fs::absolute(gpu);
    std::error_code none;
    const fs::path near = fs::relative(whole, fs::absolute(scenario).parent_path(), none);
    return (near.empty() ? whole : near).string();
}

/// The first layout as a scenario. Where there is none, throws InputError that says why.
void write_layout(const Question& question, const Plan& made, const nn::ModelSpec& spec,
                  const PlanArguments& options, CommandContext& context) {
    constexpr int32_t kSteps = 2;
    const std::string& path = options.scenario;
    const auto refuse = [&](Message why) { throw InputError({{std::move(why), {}, {}}}); };
    if (made.fitting.empty()) refuse({"cli.plan.scenario_no_layout", {{"path", path}}});
    const Job& job = made.fitting.front().job;
    if (const auto why = scenario::why_no_scenario(job))
        refuse(with_cause({"cli.plan.scenario_refused", {{"path", path}}}, *why));
    // Its first line is what such a file is known by (core/base/file_kind.cpp).
    replace_file(
        path, "# meshscope scenario from a plan: " + layout_word(job) + "\n" +
                  scenario::layout_scenario(question, spec, job, kSteps, profile_beside(options.gpu, path)));
    if (options.json) return;
    context.out << context.text("cli.scenario.written", {{"path", shell_word(path)}}) << '\n'
                << context.text("cli.plan.scenario_next", {{"path", shell_word(path)}}) << '\n';
}

void run_plan(const PlanArguments& options, CommandContext& context) {
    context.json_errors = options.json;
    if (options.scenario == "-") throw UsageError({"cli.plan.scenario_dash", {}});
    const std::vector<std::string> inputs = inputs_of_plan(options);
    check_outputs({report_output(options.report), {options.scenario, FileKind::scenario}}, inputs,
                  options.force);
    PlanTelling telling;
    const Question question = question_of(options, telling);
    const Polling polling(context);
    const auto go_on = [&](int64_t) { return context.cancelled == nullptr || !context.cancelled->load(); };
    const Plan made = plan(question, go_on);
    if (!go_on(0)) {
        context.exit_code = ExitCode::interrupted;
        return;
    }
    if (made.fitting.empty()) telling.remedies = remedies(question, go_on);
    if (!options.report.empty() || !options.json) {
        const Report report = plan_report(question, made, telling, context);
        write_report(report, options.report, context.language);
        if (!options.json) print_report(report, context.out);
    }
    if (options.json) {
        context.out << json_text(plan_json(question, made, telling), 1) << '\n';
        // The answer stands there by now: what follows is told beside it.
        context.json_errors = false;
        context.json_errors_aside = true;
    }
    if (!options.scenario.empty()) write_layout(question, made, telling.spec, options, context);
}

}  // namespace

void add_plan_command(CLI::App& app, CommandContext& context) {
    CLI::App* command = app.add_subcommand("plan", context.text("cli.plan.about"));
    command->footer(context.text("cli.plan.examples"));
    auto options = std::make_shared<PlanArguments>();
    command->add_option("MODEL", options->model, context.text("cli.plan.help.model"))->required();
    command->add_option("--gpu", options->gpu, context.text("cli.plan.help.gpu"))->type_name("NAME|FILE");
    add_integer(*command, "--gpus", options->gpus, context.text("cli.plan.help.gpus"), {1, kMostGpus})
        ->type_name("N");
    add_integer(*command, "--gpus-per-node", options->gpus_per_node,
                context.text("cli.plan.help.gpus_per_node"), {1, kMostGpus})
        ->type_name("N");
    add_integer(*command, "--seq", options->seq, context.text("cli.plan.help.seq"), {1, nn::kMostSize})
        ->type_name("N");
    add_integer(*command, "--global-batch", options->global_batch, context.text("cli.plan.help.global_batch"),
                {1, kMostBatch})
        ->type_name("N");
    command->add_option("--stack", options->stack, context.text("cli.plan.help.stack"))->type_name("WORD");
    add_integer(*command, "--lora", options->lora, context.text("cli.plan.help.lora"), {0, kMostLoraRank})
        ->type_name("RANK");
    add_integer(*command, "--base-bits", options->base_bits, context.text("cli.plan.help.base_bits"), {4, 16})
        ->type_name("4|16");
    command->add_option("--memory-gib", options->memory_gib, context.text("cli.plan.help.memory_gib"))
        ->type_name("N");
    command->add_option("--price", options->price, context.text("cli.plan.help.price"))->type_name("N");
    add_integer(*command, "--top", options->top, context.text("cli.plan.help.top"), {1, kMostListed})
        ->type_name("N");
    command->add_flag("--eager", options->eager, context.text("cli.plan.help.eager"));
    command->add_option("--only", options->only, context.text("cli.plan.help.only"))->type_name("SIZES");
    command->add_option("--report", options->report, context.text("cli.plan.help.report"))
        ->type_name("FILE.md|html");
    command->add_option("--scenario", options->scenario, context.text("cli.plan.help.scenario"))
        ->type_name("FILE");
    command->add_flag("--force", options->force, context.text("cli.help.force"));
    command->add_flag("--json", options->json, context.text("cli.help.json"));
    command->callback([options, &context] { run_plan(*options, context); });
}

}  // namespace meshscope::cli
