#include "app/cli/plan_command.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>
#include <tuple>

#include "app/cli/estimate_figures.h"
#include "app/cli/model_argument.h"
#include "app/cli/table.h"
#include "app/cli/usage.h"
#include "core/base/json_text.h"
#include "core/base/nearest.h"
#include "core/estimate/model_shape.h"
#include "core/estimate/plan.h"
#include "core/estimate/validation.h"

namespace meshscope::cli {
namespace {

using namespace estimate;
using nlohmann::ordered_json;

constexpr int64_t kMostGpus = 65536;
/// Above this part of a GPU's memory an estimate cannot promise that a layout fits.
constexpr double kTight = 0.9;

struct PlanArguments {
    std::string model, gpu = "h100", stack = "torchtitan";
    int64_t gpus = 8, gpus_per_node = 8, lora = 0, top = 10;
    std::optional<int64_t> seq, global_batch;
    std::optional<double> price, memory_gib;
    bool eager = false, json = false;
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
    std::string known;
    for (const std::string_view each : stack_words())
        known += (known.empty() ? "" : ", ") + std::string(each);
    throw UsageError({"cli.plan.unknown_stack", {{"stack", word}, {"known", known}}});
}

Question question_of(const PlanArguments& options) {
    expect("--gpus", options.gpus, 1, kMostGpus);
    expect("--gpus-per-node", options.gpus_per_node, 1, kMostGpus);
    expect("--top", options.top, 1, 1000);
    expect("--lora", options.lora, 0, 4096);
    Question question;
    const ModelArgument model = model_argument(options.model);
    const auto shape = shape_of(model.spec);
    if (!shape) throw UsageError({"cli.plan.no_transformer", {{"kind", model.type}}});
    question.shape = *shape;
    expect("--price", options.price, 1e-6, 1e6);
    expect("--memory-gib", options.memory_gib, 0.001, 1e6);
    if (options.seq) {
        expect("--seq", *options.seq, 1, nn::kMostSize);
        if (question.shape.learned_positions && *options.seq > question.shape.seq)
            throw UsageError({"cli.plan.positions", {{"seq", *options.seq}, {"most", question.shape.seq}}});
        question.shape.seq = *options.seq;
    }
    question.stack = stack_of(options.stack);
    question.compiled = !options.eager;
    question.lora_rank = options.lora;
    question.gpus = options.gpus;
    question.gpus_per_node = std::min(options.gpus_per_node, options.gpus);
    question.global_batch = options.global_batch.value_or(options.gpus);
    expect("--global-batch", question.global_batch, 1, int64_t{1} << 30);
    question.profile = profile_option(options.gpu);
    question.memory_bytes = options.memory_gib ? *options.memory_gib * 1024 * 1024 * 1024
                                               : static_cast<double>(question.profile.memory_bytes);
    if (question.memory_bytes <= 0) throw UsageError({"cli.plan.no_memory", {{"gpu", options.gpu}}});
    return question;
}

std::string data_word(const Layout& layout) {
    const std::string ranks = std::to_string(layout.data_ranks());
    if (layout.data_ranks() == 1) return "1";
    if (layout.zero == 3 && layout.replicas > 1)
        return "HSDP " + std::to_string(layout.replicas) + "×" + std::to_string(layout.shards);
    if (layout.zero == 3) return "FSDP " + ranks;
    return (layout.zero == 2 ? "ZeRO-2 " : layout.zero == 1 ? "ZeRO-1 " : "DDP ") + ranks;
}

std::string_view word(Recompute recompute) {
    switch (recompute) {
        case Recompute::none:
            return "none";
        case Recompute::attention:
            return "attention";
        case Recompute::every_second:
            return "every_second";
        case Recompute::products:
            return "selective";
        case Recompute::full:
            return "full";
    }
    return "none";
}

/// The largest part of what a layout needs.
StageMemory::Part largest_part(const StageMemory& memory) {
    return *std::ranges::max_element(memory.parts, {}, &StageMemory::Part::bytes);
}

double tokens_per_s_per_gpu(const Layouted& each) {
    return each.job.tokens_per_step() / each.time.total_s() / static_cast<double>(each.job.layout.ranks());
}

ordered_json json_of(const Layouted& each, const PlanArguments& options) {
    const Layout& l = each.job.layout;
    ordered_json parts = ordered_json::object();
    for (const StageMemory::Part& part : each.memory.parts) parts[std::string(part.name)] = part.bytes;
    const StepTime& t = each.time;
    ordered_json made{{"tp", l.tp},
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
                      {"time",
                       {{"compute_s", t.compute_s},
                        {"recompute_s", t.recompute_s},
                        {"tensor_s", t.tensor_s},
                        {"bubble_s", t.bubble_s},
                        {"send_s", t.send_s},
                        {"data_s", t.data_s},
                        {"optimizer_s", t.optimizer_s},
                        {"host_s", t.host_s}}},
                      {"allocated_bytes", each.memory.total()},
                      {"needed_bytes", each.needed_bytes},
                      {"memory", parts}};
    if (options.price)
        made["price_per_billion_tokens"] = *options.price / 3600 / tokens_per_s_per_gpu(each) * 1e9;
    return made;
}

/// The layouts of a list as a table.
void print_layouts(const Question& question, const std::vector<const Layouted*>& layouts,
                   const PlanArguments& options, bool why, const CommandContext& context) {
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
    if (why) {
        table.header.push_back(text("cli.plan.largest"));
    } else {
        for (const char* id : {"cli.plan.step", "cli.plan.tokens", "cli.plan.exposed", "cli.plan.bubble"}) {
            table.header.push_back(text(id));
            table.right.push_back(true);
        }
        if (options.price) {
            table.header.push_back(text("cli.plan.price"));
            table.right.push_back(true);
        }
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
                (each->needed_bytes > kTight * question.memory_bytes && !why ? " !" : "")};
        if (why) {
            const StageMemory::Part part = largest_part(each->memory);
            cells.push_back(text(("estimate.memory." + std::string(part.name)).c_str()) + " " +
                            estimated_bytes(part.bytes));
        } else {
            cells.push_back(estimated_ms(t.total_s()));
            cells.push_back(fixed(tokens_per_s_per_gpu(*each), 0));
            cells.push_back(percent((t.tensor_s + t.data_s + t.send_s) / t.total_s()));
            cells.push_back(percent((t.bubble_s) / t.total_s()));
            if (options.price)
                cells.push_back(fixed(*options.price / 3600 / tokens_per_s_per_gpu(*each) * 1e9, 0));
        }
        table.rows.push_back(std::move(cells));
    }
    print_table(table, context.out);
}

/// Whether they differ in the size of a micro-batch alone, or in what a context-parallel rank shares with
/// data-parallel ones.
bool twins(const Layouted& a, const Layouted& b) {
    const Layout &x = a.job.layout, &y = b.job.layout;
    return std::tuple(x.tp, x.pp, x.virtual_stages, x.zero, x.cp * x.data_ranks(), x.replicas > 1,
                      a.job.recompute) == std::tuple(y.tp, y.pp, y.virtual_stages, y.zero,
                                                     y.cp * y.data_ranks(), y.replicas > 1, b.job.recompute);
}

/// The first n that are no twins of one before.
std::vector<const Layouted*> first(const std::vector<Layouted>& all, int64_t n) {
    std::vector<const Layouted*> found;
    for (const Layouted& each : all) {
        if (static_cast<int64_t>(found.size()) == n) break;
        if (std::ranges::none_of(found, [&](const Layouted* other) { return twins(*other, each); }))
            found.push_back(&each);
    }
    return found;
}

void print_best(const Question& question, const Layouted& best, const CommandContext& context) {
    context.out << '\n' << context.text("cli.plan.best_memory") << '\n';
    Table table;
    table.right = {false, true};
    for (const StageMemory::Part& part : best.memory.parts)
        table.rows.push_back(
            {context.text("estimate.memory." + std::string(part.name)), estimated_bytes(part.bytes)});
    table.rows.push_back({context.text("cli.plan.needed"), estimated_bytes(best.needed_bytes)});
    print_table(table, context.out);
    const Sensitivity s = sensitivity(question, best.job);
    context.out << '\n'
                << context.text("cli.plan.sensitivity", {{"products", percent(s.products)},
                                                         {"memory", percent(s.memory)},
                                                         {"links", percent(s.links)},
                                                         {"network", percent(s.network)}})
                << '\n';
}

void print_accuracy(const Question& question, const CommandContext& context) {
    std::string gpu = question.profile.name;
    const Score found = accuracy(question.stack, gpu);
    const std::string stack(traits(question.stack).word);
    if (found.rows == 0) {
        context.out << context.text("cli.plan.unproven", {{"stack", stack}}) << '\n';
        return;
    }
    context.out << context.text(gpu.empty() ? "cli.plan.accuracy" : "cli.plan.accuracy_gpu",
                                {{"rows", found.rows},
                                 {"stack", stack},
                                 {"gpu", gpu.empty() ? question.profile.name : gpu},
                                 {"mean", percent(found.mean_absolute)},
                                 {"worst", percent(found.worst)},
                                 {"run", found.worst_id}});
    if (const Score memory = memory_accuracy(question.stack); memory.rows > 0)
        context.out << ' '
                    << context.text("cli.plan.memory_accuracy", {{"rows", memory.rows},
                                                                 {"mean", percent(memory.mean_absolute)},
                                                                 {"worst", percent(memory.worst)}});
    if (question.lora_rank > 0) context.out << ' ' << context.text("cli.plan.no_lora_runs");
    context.out << '\n';
}

void print_json(const PlanArguments& options, const Question& question, const Plan& made,
                CommandContext& context) {
    ordered_json out{{"parameters", parameters(question.shape)},
                     {"gpus", question.gpus},
                     {"gpu", question.profile.name},
                     {"memory_bytes", question.memory_bytes},
                     {"global_batch", question.global_batch},
                     {"seq", question.shape.seq},
                     {"stack", traits(question.stack).word},
                     {"tried", made.tried},
                     {"fitting", made.fitting.size()}};
    const auto list = [&](const std::vector<const Layouted*>& layouts) {
        ordered_json found = ordered_json::array();
        for (const Layouted* each : layouts) found.push_back(json_of(*each, options));
        return found;
    };
    out["layouts"] = list(first(made.fitting, options.top));
    out["pareto"] = list(made.pareto());
    if (made.fitting.empty()) out["nearest"] = list(first(made.too_large, options.top));
    if (!made.fitting.empty()) {
        const Sensitivity s = sensitivity(question, made.fitting.front().job);
        out["sensitivity"] = {
            {"products", s.products}, {"memory", s.memory}, {"links", s.links}, {"network", s.network}};
    }
    context.out << json_text(out, 1) << '\n';
}

void run_plan(const PlanArguments& options, CommandContext& context) {
    context.json_errors = options.json;
    const Question question = question_of(options);
    const Polling polling(context);
    const auto go_on = [&](int64_t) { return context.cancelled == nullptr || !context.cancelled->load(); };
    const Plan made = plan(question, go_on);
    if (!go_on(0)) {
        context.exit_code = ExitCode::interrupted;
        return;
    }
    if (options.json) return print_json(options, question, made, context);
    context.out << context.text(
                       "cli.plan.head",
                       {{"parameters", fixed(static_cast<double>(parameters(question.shape)) / 1e9, 2)},
                        {"gpus", question.gpus},
                        {"gpu", question.profile.name},
                        {"memory", estimated_bytes(question.memory_bytes)},
                        {"batch", question.global_batch},
                        {"seq", question.shape.seq}})
                << '\n';
    if (question.lora_rank > 0) {
        Job job;
        job.shape = question.shape;
        job.lora_rank = question.lora_rank;
        const double trained = static_cast<double>(parameters(job.shape)) * trained_share(job);
        context.out << context.text("cli.plan.lora",
                                    {{"rank", question.lora_rank}, {"millions", fixed(trained / 1e6, 1)}})
                    << '\n';
    }
    context.out << context.text("cli.plan.tried", {{"tried", made.tried},
                                                   {"fitting", static_cast<int64_t>(made.fitting.size())}})
                << "\n\n";
    if (made.fitting.empty()) {
        context.out << context.text(question.lora_rank > 0 ? "cli.plan.none_fits_lora" : "cli.plan.none_fits")
                    << '\n';
        print_layouts(question, first(made.too_large, options.top), options, true, context);
        return;
    }
    print_layouts(question, first(made.fitting, options.top), options, false, context);
    context.out << context.text("cli.plan.legend") << '\n';
    context.out << '\n' << context.text("cli.plan.pareto") << '\n';
    print_layouts(question, made.pareto(), options, false, context);
    print_best(question, made.fitting.front(), context);
    print_accuracy(question, context);
}

}  // namespace

void add_plan_command(CLI::App& app, CommandContext& context) {
    CLI::App* command = app.add_subcommand("plan", context.text("cli.plan.about"));
    command->footer(context.text("cli.plan.examples"));
    auto options = std::make_shared<PlanArguments>();
    command->add_option("MODEL", options->model, context.text("cli.plan.help.model"))->required();
    command->add_option("--gpu", options->gpu, context.text("cli.plan.help.gpu"))->type_name("NAME|FILE");
    command->add_option("--gpus", options->gpus, context.text("cli.plan.help.gpus"))->type_name("N");
    command
        ->add_option("--gpus-per-node", options->gpus_per_node, context.text("cli.plan.help.gpus_per_node"))
        ->type_name("N");
    command->add_option("--seq", options->seq, context.text("cli.plan.help.seq"))->type_name("N");
    command->add_option("--global-batch", options->global_batch, context.text("cli.plan.help.global_batch"))
        ->type_name("N");
    command->add_option("--stack", options->stack, context.text("cli.plan.help.stack"))->type_name("WORD");
    command->add_option("--lora", options->lora, context.text("cli.plan.help.lora"))->type_name("RANK");
    command->add_option("--memory-gib", options->memory_gib, context.text("cli.plan.help.memory_gib"))
        ->type_name("N");
    command->add_option("--price", options->price, context.text("cli.plan.help.price"))->type_name("N");
    command->add_option("--top", options->top, context.text("cli.plan.help.top"))->type_name("N");
    command->add_flag("--eager", options->eager, context.text("cli.plan.help.eager"));
    command->add_flag("--json", options->json, context.text("cli.help.json"));
    command->callback([options, &context] { run_plan(*options, context); });
}

}  // namespace meshscope::cli
