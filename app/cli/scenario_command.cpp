#include "app/cli/scenario_command.h"

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "app/cli/integer_option.h"
#include "app/cli/outputs.h"
#include "app/cli/usage.h"
#include "core/base/error.h"
#include "core/base/json_text.h"
#include "core/base/replace_file.h"
#include "core/base/shell_word.h"
#include "core/base/text.h"
#include "core/jobs/read_job.h"
#include "core/jobs/write.h"
#include "core/nn/model/spec.h"
#include "core/scenario/readers.h"

namespace meshscope::cli {
namespace {

using jobs::Job;
using nlohmann::ordered_json;

struct FromArguments {
    std::vector<std::string> files;
    std::string out;
    jobs::JobOptions options;
    bool force = false, json = false;
};

ordered_json json_of(const jobs::Value& value) {
    return std::visit([](const auto& held) { return ordered_json(held); }, value);
}

const char* word(jobs::Origin::Kind kind) {
    switch (kind) {
        case jobs::Origin::Kind::file:
            return "file";
        case jobs::Origin::Kind::fallback:
            return "default";
        case jobs::Origin::Kind::option:
            return "option";
        case jobs::Origin::Kind::derived:
            return "derived";
        case jobs::Origin::Kind::chosen:
            break;
    }
    return "chosen";
}

ordered_json json_of(const jobs::Fact& fact, const CommandContext& context) {
    ordered_json made{{"name", fact.name}, {"value", json_of(fact.value)}, {"from", word(fact.origin.kind)}};
    if (fact.origin.kind == jobs::Origin::Kind::file) made["file"] = fact.origin.source;
    if (fact.origin.kind == jobs::Origin::Kind::fallback) made["program"] = fact.origin.source;
    if (fact.origin.kind != jobs::Origin::Kind::chosen) made["key"] = fact.origin.key;
    made["text"] = context.text(to_message(fact.origin));
    return made;
}

/// All that is known of a job; `scenario` is null while something is missing.
void print_json(const Job& job, const std::optional<jobs::Made>& made, CommandContext& context) {
    ordered_json facts = ordered_json::array(), unsaid = ordered_json::array(),
                 unread = ordered_json::array(), missing = ordered_json::array(),
                 refused = ordered_json::array();
    for (const jobs::Fact& each : job.facts.all()) facts.push_back(json_of(each, context));
    for (const jobs::Unsaid& each : job.unsaid)
        unsaid.push_back({{"file", each.file},
                          {"key", each.key},
                          {"value", each.value},
                          {"default", each.fallback},
                          {"id", each.why.id},
                          {"text", context.text(each.why)}});
    for (const auto& [file, key] : job.unread) unread.push_back({{"file", file}, {"key", key}});
    for (const jobs::Missing& each : job.missing)
        missing.push_back({{"option", each.option}, {"id", each.what.id}, {"text", context.text(each.what)}});
    if (made)
        for (const Diagnostic& each : made->refused)
            refused.push_back({{"id", each.message.id},
                               {"line", each.position.line},
                               {"text", context.text(each.message)}});
    const auto world = job.facts.whole("world");
    const ordered_json all{
        {"program", job.program},
        {"files", job.files},
        {"world", world ? ordered_json(*world) : ordered_json()},
        {"world_multiple", job.world_multiple},
        {"mesh", job.mesh_shape.empty() ? ordered_json()
                                        : ordered_json{{"shape", job.mesh_shape}, {"names", job.mesh_names}}},
        {"facts", std::move(facts)},
        {"unsaid", std::move(unsaid)},
        {"unread", std::move(unread)},
        {"missing", std::move(missing)},
        {"refused", std::move(refused)},
        {"scenario", made ? ordered_json(made->text) : ordered_json()}};
    context.out << json_text(all) << '\n';
}

/// What is missing, as mistakes of the files.
[[noreturn]] void refuse_missing(const Job& job) {
    std::vector<Diagnostic> found;
    for (const jobs::Missing& each : job.missing)
        found.push_back({each.what, {job.files.front(), 0, 0, -1}, {}});
    found.back().hint = {"jobs.hint.next", {}};
    throw InputError(std::move(found));
}

std::string mesh_text(const Job& job) {
    std::string text;
    for (std::size_t i = 0; i < job.mesh_shape.size(); ++i)
        text += (i == 0 ? "" : " × ") + job.mesh_names[i] + " " + std::to_string(job.mesh_shape[i]);
    return text;
}

/// What a person is told beside the scenario itself.
void tell(const Job& job, const jobs::Made& made, const FromArguments& arguments, CommandContext& context) {
    std::ostream& err = context.err;
    err << context.text("cli.scenario.head", {{"program", job.program},
                                              {"world", job.facts.whole("world").value_or(1)},
                                              {"mesh", mesh_text(job)}})
        << '\n';
    if (!job.unsaid.empty()) {
        err << context.text("cli.scenario.unsaid", {{"n", static_cast<int64_t>(job.unsaid.size())}}) << '\n';
        for (const jobs::Unsaid& each : job.unsaid)
            err << "  " << printable(context.text(to_message(each, context.text(each.why)))) << '\n';
    }
    if (const jobs::Fact* const ranks = job.facts.find("ranks_per_node");
        ranks != nullptr && ranks->origin.kind == jobs::Origin::Kind::chosen)
        err << context.text("cli.scenario.assumed", {{"n", std::get<int64_t>(ranks->value)}}) << '\n';
    if (!made.refused.empty()) {
        err << context.text("cli.scenario.refused") << '\n';
        for (const Diagnostic& each : made.refused)
            err << "  " << printable(context.text(each.message)) << '\n';
    }
    if (arguments.out.empty()) return;
    context.out << context.text("cli.scenario.written", {{"path", shell_word(arguments.out)}}) << '\n';
    if (made.refused.empty())
        context.out << context.text("cli.scenario.next", {{"path", shell_word(arguments.out)}}) << '\n';
}

void make(const FromArguments& arguments, CommandContext& context) {
    context.json_errors = arguments.json;
    std::vector<std::string> inputs = arguments.files;
    if (!arguments.options.model.empty()) inputs.push_back(arguments.options.model);
    if (!arguments.out.empty()) check_outputs({{arguments.out, FileKind::scenario}}, inputs, arguments.force);
    Job job = jobs::read_job(arguments.files, arguments.options);
    // Files that the job's own name.
    if (!arguments.out.empty())
        check_outputs({{arguments.out, FileKind::scenario}}, job.files, arguments.force);
    if (!job.missing.empty()) {
        if (!arguments.json) refuse_missing(job);
        context.exit_code = ExitCode::bad_input;
        return print_json(job, std::nullopt, context);
    }
    const jobs::Made made = jobs::write_scenario(
        job, arguments.out, [&context](const Message& message) { return context.text(message); });
    if (!arguments.out.empty()) replace_file(arguments.out, made.text);
    if (arguments.json) return print_json(job, made, context);
    if (arguments.out.empty()) context.out << made.text;
    tell(job, made, arguments, context);
}

}  // namespace

void add_scenario_command(CLI::App& app, CommandContext& context) {
    CLI::App* scenario = app.add_subcommand("scenario", context.text("cli.scenario.about"));
    scenario->require_subcommand(1);
    CLI::App* command = scenario->add_subcommand("from", context.text("cli.scenario.from.about"));
    command->footer(context.text("cli.scenario.from.examples"));
    auto arguments = std::make_shared<FromArguments>();
    const auto help = [&](const char* what) {
        return context.text(std::string("cli.scenario.help.") + what);
    };
    command->add_option("FILE", arguments->files, help("files"))->required();
    command->add_option("-o,--out", arguments->out, help("out"))->type_name("FILE.toml");
    command->add_option("--model", arguments->options.model, help("model"))->type_name("config.json");
    const auto number = [&](const char* name, std::optional<int64_t>& into, const char* text, int64_t most) {
        add_integer(*command, name, into, help(text), {1, most})
            ->check(CLI::Range(int64_t{1}, most))
            ->type_name("N");
    };
    number("--world", arguments->options.world, "world", scenario::kMostRanks);
    number("--ranks-per-node", arguments->options.ranks_per_node, "ranks_per_node", scenario::kMostRanks);
    number("--micro-batch", arguments->options.micro_batch, "micro_batch", jobs::kMostSamples);
    number("--accumulate", arguments->options.accumulate, "accumulate", jobs::kMostSamples);
    number("--global-batch", arguments->options.global_batch, "global_batch", jobs::kMostSamples);
    number("--seq", arguments->options.seq, "seq", nn::kMostSize);
    number("--vocab", arguments->options.vocab, "vocab", nn::kMostSize);
    command->add_flag("--force", arguments->force, help("force"));
    command->add_flag("--json", arguments->json, context.text("cli.help.json"));
    command->callback([arguments, command, &context] {
        refuse_empty_values(*command);
        make(*arguments, context);
    });
}

}  // namespace meshscope::cli
