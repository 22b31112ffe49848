#include "app/cli/model_command.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>
#include <sstream>
#include <string>
#include <utility>

#include "app/cli/integer_option.h"
#include "app/cli/model_argument.h"
#include "app/cli/table.h"
#include "app/cli/usage.h"
#include "core/base/error.h"
#include "core/base/json_text.h"
#include "core/base/units.h"
#include "core/nn/model/counts.h"

namespace meshscope::cli {
namespace {

struct ShowArguments {
    std::string model;
    int64_t seq = 0;  ///< 0: the model's own
    bool json = false;
};

bool has_tokens(const nn::ModelSpec& spec) {
    return spec.vocab > 0;
}

int64_t layers_of(const nn::ModelSpec& spec) {
    return spec.kind == "toy" ? 2 : spec.layers;
}

/// Layers that see a window of tokens only.
int64_t windowed_layers(const nn::ModelSpec& spec) {
    int64_t n = 0;
    for (int64_t i = 0; i < spec.layers; ++i) n += spec.window_of(i) > 0 ? 1 : 0;
    return n;
}

nlohmann::ordered_json json_of(const ModelArgument& shown, int64_t seq) {
    const nn::ModelSpec& spec = shown.spec;
    const nn::ParameterCounts counts = nn::count_parameters(spec);
    nlohmann::ordered_json json{
        {"architecture", shown.type},
        {"kind", spec.kind},
        {"dtype", shown.dtype.empty() ? nlohmann::ordered_json() : nlohmann::ordered_json(shown.dtype)},
        {"parameters", counts.total()},
        {"by_part",
         {{"embedding", counts.embedding},
          {"each_layer", counts.each_layer},
          {"layers", counts.layers},
          {"final_norm", counts.final_norm},
          {"head", counts.head}}},
        {"layers", layers_of(spec)},
        {"bytes", {{"bfloat16", 2 * counts.total()}, {"float32", 4 * counts.total()}}}};
    if (spec.kind != "toy") {
        json["dim"] = spec.dim;
        json["hidden"] = spec.hidden;
    }
    if (!has_tokens(spec)) return json;
    json["heads"] = spec.heads;
    json["kv_heads"] = spec.kind == "llama" ? spec.kv_heads : spec.heads;
    json["head_dim"] = spec.head_width();
    json["vocab"] = spec.vocab;
    json["context"] = spec.seq;
    json["tied"] = spec.tied;
    json["window"] = spec.window;
    json["windowed_layers"] = windowed_layers(spec);
    const nn::TokenCost cost = nn::cost_of_token(spec, seq);
    json["flops_per_token"] = {{"seq", seq},
                               {"forward", cost.forward()},
                               {"training", cost.training()},
                               {"products_forward", cost.products},
                               {"attention_forward", cost.attention}};
    return json;
}

/// 12.3, 0.0123: three digits that say something.
std::string giga(double flops) {
    std::ostringstream text;
    text.precision(3);
    text << flops * 1e-9;
    return text.str();
}

void print_words(const ModelArgument& shown, int64_t seq, CommandContext& context) {
    const nn::ModelSpec& spec = shown.spec;
    Table facts;
    const auto fact = [&](const char* id, std::string value) {
        facts.rows.push_back({context.text(id), std::move(value)});
    };
    fact("cli.model.kind", shown.type);
    if (!shown.dtype.empty()) fact("cli.model.dtype", shown.dtype);
    fact("cli.model.layers", std::to_string(layers_of(spec)));
    if (spec.kind != "toy")
        fact("cli.model.width",
             context.text("cli.model.width_value", {{"dim", spec.dim}, {"hidden", spec.hidden}}));
    if (has_tokens(spec)) {
        fact("cli.model.heads", context.text("cli.model.heads_value",
                                             {{"heads", spec.heads},
                                              {"kv_heads", spec.kind == "llama" ? spec.kv_heads : spec.heads},
                                              {"head_dim", spec.head_width()}}));
        fact("cli.model.vocabulary", std::to_string(spec.vocab));
        fact("cli.model.context", std::to_string(spec.seq));
        if (const int64_t layers = windowed_layers(spec); layers > 0)
            fact("cli.model.window",
                 context.text("cli.model.window_value", {{"window", spec.window}, {"layers", layers}}));
    }
    print_table(facts, context.out);

    const nn::ParameterCounts counts = nn::count_parameters(spec);
    Table parts;
    parts.header = {context.text("cli.model.part"), context.text("cli.model.parameters"), "bfloat16",
                    "float32"};
    parts.right = {false, true, true, true};
    const auto part = [&](std::string name, int64_t n) {
        parts.rows.push_back({std::move(name), std::to_string(n), bytes_text(2 * n), bytes_text(4 * n)});
    };
    if (has_tokens(spec)) part(context.text("cli.model.embedding"), counts.embedding);
    if (spec.kind == "toy")
        part(context.text("cli.model.layers"), counts.layers);
    else
        part(context.text("cli.model.all_layers", {{"layers", spec.layers}, {"each", counts.each_layer}}),
             counts.layers);
    if (has_tokens(spec)) {
        part(context.text("cli.model.final_norm"), counts.final_norm);
        part(context.text(spec.tied ? "cli.model.tied" : "cli.model.head"), counts.head);
    }
    part(context.text("cli.model.total"), counts.total());
    context.out << '\n';
    print_table(parts, context.out);
    if (!has_tokens(spec)) return;
    const nn::TokenCost cost = nn::cost_of_token(spec, seq);
    context.out << '\n'
                << context.text("cli.model.flops", {{"seq", seq},
                                                    {"forward", giga(cost.forward())},
                                                    {"training", giga(cost.training())},
                                                    {"attention", giga(3.5 * cost.attention)}})
                << '\n';
}

void show(const ShowArguments& options, CommandContext& context) {
    context.json_errors = options.json;
    const ModelArgument shown = model_argument(options.model);
    const int64_t seq = options.seq > 0 ? options.seq : std::max<int64_t>(shown.spec.seq, 1);
    if (options.json)
        context.out << json_text(json_of(shown, seq)) << '\n';
    else
        print_words(shown, seq, context);
}

}  // namespace

void add_model_command(CLI::App& app, CommandContext& context) {
    CLI::App* model = app.add_subcommand("model", context.text("cli.model.about"));
    model->require_subcommand(1);
    CLI::App* command = model->add_subcommand("show", context.text("cli.model.show.about"));
    command->footer(context.text("cli.model.show.examples"));
    auto options = std::make_shared<ShowArguments>();
    command->add_option("MODEL", options->model, context.text("cli.model.help.model"))->required();
    add_integer(*command, "--seq", options->seq, context.text("cli.model.help.seq"), {1, nn::kMostSize})
        ->check(CLI::Range(int64_t{1}, nn::kMostSize))
        ->type_name("N");
    command->add_flag("--json", options->json, context.text("cli.help.json"));
    command->callback([options, command, &context] {
        refuse_empty_values(*command);
        show(*options, context);
    });
}

}  // namespace meshscope::cli
