#include "app/gui/session/run_traits.h"

#include <cstdio>

#include "core/scenario/words.h"

namespace meshscope::session {
namespace {

using Kind = view::RunTrait::Kind;
using scenario::Scenario;

std::string number(double value) {
    char text[32];
    std::snprintf(text, sizeof(text), "%g", value);
    return text;
}
std::string flag(bool value) {
    return value ? "true" : "false";
}

std::string shape_of(const trace::RunInfo& info) {
    std::string text;
    for (std::size_t d = 0; d < info.mesh_shape.size(); ++d)
        text += (text.empty() ? "" : " × ") +
                (d < info.mesh_names.size() && !info.mesh_names[d].empty() ? info.mesh_names[d] + " "
                                                                           : std::string()) +
                std::to_string(info.mesh_shape[d]);
    return text;
}

/// What the calls of a run that trains nothing are.
std::string calls_of(const Scenario& scenario) {
    std::string text;
    for (const auto& call : scenario.calls)
        text += (text.empty() ? "" : ", ") + std::string(name(call.op)) + " " + std::to_string(call.elements);
    return text;
}

void add_model(std::vector<view::RunTrait>& traits, const Scenario& scenario) {
    const auto add = [&](const char* key, std::string value) {
        traits.push_back({Kind::work, std::string("model.") + key, std::move(value)});
    };
    const nn::ModelSpec& model = scenario.model;
    add("kind", model.kind);
    if (model.kind == "toy") return;
    add("dim", std::to_string(model.dim));
    add("hidden", std::to_string(model.hidden));
    add("layers", std::to_string(model.layers));
    add("vocab", std::to_string(model.vocab));
    add("seq", std::to_string(model.seq));
    add("heads", std::to_string(model.heads));
    add("kv_heads", std::to_string(model.kv_heads));
    add("tied", flag(model.tied));
    add("bias", flag(model.kind == "gpt" ? model.block_bias : model.bias));
    if (model.vocab == 0) return;
    add("head_dim", std::to_string(model.head_width()));
    add("window", std::to_string(model.window));
    add("qk_norm", std::string(scenario::qk_norms()[static_cast<std::size_t>(model.qk_norm)]));
    add("qkv_bias", flag(model.qkv_bias));
}

void add_data(std::vector<view::RunTrait>& traits, const Scenario& scenario) {
    const auto add = [&](const char* key, std::string value) {
        traits.push_back({Kind::work, std::string("data.") + key, std::move(value)});
    };
    if (!scenario.data_file.empty()) return add("file", scenario.data_file);
    add("kind", scenario.data_kind);
    add("samples", std::to_string(scenario.data_samples));
    add("seed", std::to_string(scenario.data_seed));
}

}  // namespace

/// "never", else after how many steps and how: "1 sharded"; 0: after the last.
std::string saves_of(const Scenario& of) {
    if (!of.checkpoint.saves()) return "–";
    return std::to_string(of.checkpoint.every) + (of.checkpoint.sharded ? " sharded" : " rank0");
}

std::vector<view::RunTrait> run_traits(const trace::RunInfo& info, const Scenario* scenario) {
    std::vector<view::RunTrait> traits;
    const auto add = [&](Kind kind, const std::string& table, const char* key, std::string value) {
        traits.push_back({kind, table + (table.empty() ? "" : ".") + key, std::move(value)});
    };
    if (scenario != nullptr) {
        const Scenario& of = *scenario;
        // A run of calls has no model, and what it is given for one counts for nothing.
        add(Kind::work, "", "call", calls_of(of));
        if (of.calls.empty()) {
            add_model(traits, of);
            add_data(traits, of);
            add(Kind::work, "train", "global_batch", std::to_string(of.global_batch));
            add(Kind::work, "mixed_precision", "param", std::string(name(of.parallel.precision.param)));
            add(Kind::work, "mixed_precision", "reduce", std::string(name(of.parallel.precision.reduce)));
            add(Kind::how, "memory", "ops",
                std::string(scenario::memory_ops()[static_cast<std::size_t>(of.ops.ops)]));
            add(Kind::how, "parallel", "data",
                std::string(scenario::data_strategies()[static_cast<std::size_t>(of.parallel.data)]));
            add(Kind::how, "optimizer", "kind", of.optimizer.kind);
            add(Kind::how, "optimizer", "lr", number(of.optimizer.lr));
            add(Kind::how, "model", "seed", std::to_string(of.model_seed));
            add(Kind::how, "model", "weights", of.weights);
            add(Kind::how, "train", "steps", std::to_string(of.steps));
            // Saving and evaluating take time of the run.
            add(Kind::how, "checkpoint", "every", saves_of(of));
            add(Kind::how, "eval", "every", std::to_string(of.evaluation.every));
        }
    }
    add(Kind::how, "", "mesh", shape_of(info));
    add(Kind::how, "", "backend", info.backend);
    return traits;
}

}  // namespace meshscope::session
