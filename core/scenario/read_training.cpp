#include "core/scenario/readers.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/mesh/roles.h"
#include "core/nn/model/frozen.h"
#include "core/parallel/declaration.h"
#include "core/parallel/model_declaration.h"
#include "core/parallel/unit_keys.h"
#include "core/scenario/given_files.h"
#include "core/scenario/words.h"
#include "core/time/read_profile.h"

namespace meshscope::scenario {
namespace {

constexpr IntegerRange kCount{1, std::numeric_limits<int32_t>::max()};

void read_train(const Section& root, const Section& train, Scenario& s) {
    if (!train.present()) {
        root.require("train");
        return;
    }
    train.require("steps");
    train.require("global_batch");
    s.steps = static_cast<int32_t>(train.integer("steps", kCount).value_or(1));
    s.global_batch = train.integer("global_batch", kCount).value_or(1);
    s.accumulate = static_cast<int32_t>(train.integer("accumulate", kCount).value_or(1));
    s.micro_batch = train.integer("micro_batch", kCount);
    s.clip_norm = train.number("clip_norm", {0, 1e30, false});
}

/// [train] frozen: each entry must name something that the model has, and something must be left.
void read_frozen(const Section& train, Scenario& s) {
    const auto entries = train.texts("frozen");
    if (!entries || !model_is_known(s)) return;
    const std::unique_ptr<nn::Model> model = nn::make_model(s.model);
    const std::set<std::string> known = nn::names_in(*model);
    bool fine = true;
    for (std::size_t i = 0; i < entries->size(); ++i) {
        const std::optional<std::string> unknown = nn::first_unknown(known, (*entries)[i]);
        if (!unknown) continue;
        fine = false;
        if (unknown->empty() && !(*entries)[i].empty())
            train.report_element("frozen", i, {"scenario.frozen_range", {{"entry", (*entries)[i]}}});
        else
            train.report_element("frozen", i,
                                 {"scenario.frozen_unknown", {{"name", *unknown}, {"kind", s.model.kind}}},
                                 parallel::modules_hint(s.model));
    }
    if (!fine) return;
    s.model.frozen = *entries;
    nn::freeze(*model, *entries);
    if (!nn::any_trained(model->all_parameters())) train.report("frozen", {"scenario.frozen_all", {}});
}

/// What does not go together with frozen parameters, once [parallel] is read.
void check_frozen(const Section& root, const Scenario& s) {
    if (!parallel::declaration(s.parallel.data).one_process) return;
    if (!s.model.frozen.empty()) root.section("train").report_key("frozen", {"scenario.frozen_dp", {}});
    if (s.model.lora_rank > 0) root.section("model").report_key("lora_rank", {"scenario.frozen_dp", {}});
}

/// [train] dtype: bfloat16 for all that training holds, in place of [parallel] mixed_precision.
void read_dtype(const Section& root, const Section& train, Scenario& s) {
    if (train.word("dtype", train_dtypes()).value_or("float32") != "bfloat16") return;
    const Section parallel = root.section("parallel");
    if (parallel.has("mixed_precision"))
        return train.report_key(
            "dtype", {"scenario.keys_exclude",
                      {{"key", train.full("dtype")}, {"other", parallel.full("mixed_precision")}}});
    if (s.model.norm != nn::Norm::none)
        return train.report_key("dtype", {"scenario.precision_batch_norm", {{"key", train.full("dtype")}}});
    const parallel::Declaration& strategy = parallel::declaration(s.parallel.data);
    if (!strategy.stores_bfloat16 && parallel.sure("data"))
        return train.report_key("dtype", {"scenario.dtype_strategy", {{"data", std::string(strategy.word)}}});
    s.parallel.precision = {DType::bfloat16, DType::bfloat16, DType::bfloat16};
}

/// [memory]: of which kernels layers and loss are made.
void read_memory(const Section& root, Scenario& s) {
    const Section memory = root.section("memory");
    if (const auto ops = memory.word("ops", memory_ops()))
        s.ops.ops = enumerator<nn::Ops>(memory_ops(), *ops);
    if (s.ops.ops != nn::Ops::fused && (s.model.kind == "toy" || s.model.kind == "mlp"))
        memory.report_key("ops",
                          {"scenario.memory_kind", {{"key", memory.full("ops")}, {"kind", s.model.kind}}});
    for (const auto& [key, pieces] : {std::pair{"norm", &s.ops.norm}, std::pair{"loss", &s.ops.loss}}) {
        if (const auto word = memory.word(key, memory_pieces()))
            *pieces = enumerator<nn::Pieces>(memory_pieces(), *word);
        if (memory.has(key) && s.ops.ops == nn::Ops::fused && memory.sure("ops"))
            memory.report_key(key, {"scenario.memory_pieces", {{"key", memory.full(key)}}});
    }
}

void read_optimizer(const Section& root, Scenario& s) {
    const Section optimizer = root.section("optimizer");
    Scenario::Optimizer& o = s.optimizer;
    const std::optional<std::string> kind = optimizer.word("kind", optimizer_kinds());
    if (kind) o.kind = *kind;
    // PyTorch's defaults: only AdamW decays unasked.
    o.weight_decay = o.kind == "adamw" ? 0.01 : 0.0;
    o.lr = optimizer.number("lr", {0, 1e10}).value_or(o.lr);
    o.momentum = optimizer.number("momentum", {0, 1}).value_or(o.momentum);
    o.eps = optimizer.number("eps", {0, 1}).value_or(o.eps);
    o.weight_decay = optimizer.number("weight_decay", {0, 1e10}).value_or(o.weight_decay);
    if (const auto betas = optimizer.numbers("betas")) {
        const bool fine = betas->size() == 2 && std::all_of(betas->begin(), betas->end(),
                                                            [](double b) { return b >= 0.0 && b < 1.0; });
        if (fine) {
            o.beta1 = (*betas)[0];
            o.beta2 = (*betas)[1];
        } else {
            optimizer.report("betas", {"scenario.bad_betas", {}});
        }
    }
    if (kind == "sgd") refuse_for_kind(optimizer, {"betas", "eps"}, "sgd");
    if (kind == "adam" || kind == "adamw") refuse_for_kind(optimizer, {"momentum"}, *kind);
}

void read_checkpoint(const Section& root, Scenario& s) {
    const Section checkpoint = root.section("checkpoint");
    Scenario::Checkpoint& c = s.checkpoint;
    c.folder = folder_path(checkpoint, "folder", s.folder);
    c.resume = folder_path(checkpoint, "resume", s.folder);
    c.resume_at = checkpoint.position_of("resume");
    c.every = static_cast<int32_t>(checkpoint.integer("every", {0, kCount.most}).value_or(0));
    c.keep = static_cast<int32_t>(checkpoint.integer("keep", {0, kCount.most}).value_or(0));
    c.sharded = checkpoint.word("kind", checkpoint_kinds()).value_or("sharded") == "sharded";
    c.temporary = checkpoint.boolean("temporary").value_or(false);
    if (c.temporary && checkpoint.has("folder"))
        checkpoint.report_key("folder", {"scenario.checkpoint_two_folders", {}});
    if (const auto after = checkpoint.integer("restart_after", {0, kCount.most})) {
        c.restart_after = static_cast<int32_t>(*after);
        if (root.section("train").sure("steps") && *after >= s.steps)
            checkpoint.report("restart_after", {"scenario.restart_behind_end",
                                                {{"after", *after}, {"steps", int64_t{s.steps}}}});
    }
    for (const std::string_view key : {"every", "kind", "keep", "restart_after"})
        if (checkpoint.has(key) && !checkpoint.has("folder") && !c.temporary &&
            checkpoint.sure("temporary")) {
            checkpoint.require("folder");
            break;
        }
}

void read_record(const Section& root, Scenario& s) {
    const std::optional<std::string> level = root.section("record").word("level", levels());
    if (!level) return;
    const auto found = std::find(levels().begin(), levels().end(), *level);
    s.level = static_cast<trace::Level>(found - levels().begin());
}

void read_hardware(const Section& root, Scenario& s) {
    const Section hardware = root.section("hardware");
    if (auto profile = read_profile(hardware, "profile", s.folder)) s.hardware = std::move(*profile);
    const auto ranks_per_node = hardware.integer("ranks_per_node", {1, kMostRanks});
    if (!ranks_per_node) return;
    for (int32_t rank = 0; rank < world_size(s); ++rank)
        s.node_of_rank.push_back(static_cast<int32_t>(rank / *ranks_per_node));
}

constexpr int64_t kMostEvaluated = int64_t{1} << 24;  ///< each rank keeps a loss of each

/// Where there is nothing to evaluate on, or nobody who could.
void refuse_combinations(const Section& eval, const Scenario& s) {
    if (!s.data_file.empty()) eval.report_key("samples", {"scenario.eval_file", {}});
    const parallel::Declaration& strategy = parallel::declaration(s.parallel.data);
    if (strategy.one_process) eval.report_key("every", {"scenario.eval_dp", {}});
    if (const int64_t agrees = strategy.agrees_every != nullptr ? strategy.agrees_every(s.parallel) : 1;
        eval.sure("every") && (agrees == 0 || s.evaluation.every % agrees != 0))
        eval.report("every", {agrees == 0 ? "scenario.eval_apart" : "scenario.eval_between",
                              {{"strategy", std::string(strategy.word)}, {"steps", agrees}}});
    if (strategy.is(&parallel::Declaration::uneven_inputs, s.parallel))
        eval.report_key("every", {"scenario.eval_join", {}});
    for (const parallel::ModelDeclaration* const each : parallel::model_declarations()) {
        if (each->no_evaluation == nullptr) continue;
        const std::string_view why = each->no_evaluation(s.parallel, s.mesh_names);
        if (!why.empty()) eval.report_key("every", {std::string(why), {}});
    }
}

}  // namespace

std::optional<time::Profile> read_profile(const Section& section, std::string_view key,
                                          const std::string& folder) {
    const std::optional<std::string> given = section.text(key);
    if (!given) return {};
    if (!given->ends_with(".toml")) {
        const std::vector<std::string> known = time::profile_names();
        const std::vector<std::string_view> words(known.begin(), known.end());
        const auto word = section.word(key, words);
        return word ? std::optional(time::named_profile(*word)) : std::nullopt;
    }
    const std::string path = existing_file(section, key, folder);
    if (path.empty()) return {};
    try {
        return time::read_profile(path);
    } catch (const InputError& error) {
        for (const Diagnostic& diagnostic : error.diagnostics()) section.report_at(diagnostic);
        return {};
    }
}

bool read_training(const Section& root, Scenario& scenario) {
    if (root.has("call") || !root.sure("call")) {
        const bool mesh_known = read_calls(root, scenario);
        read_record(root, scenario);
        read_hardware(root, scenario);
        read_faults(root, mesh_known, scenario);
        return mesh_known;
    }
    const Section model = root.section("model");
    read_model(root, model, scenario);
    read_data(root, scenario);
    const Section train = root.section("train");
    read_train(root, train, scenario);
    read_frozen(train, scenario);
    read_optimizer(root, scenario);
    const bool mesh_known = read_mesh_and_parallel(root, model, train, scenario);
    check_norm(root, mesh_known, scenario);
    check_ignored(root, scenario);
    check_frozen(root, scenario);
    read_dtype(root, train, scenario);
    read_memory(root, scenario);
    read_evaluation(root, scenario);
    read_checkpoint(root, scenario);
    read_record(root, scenario);
    read_hardware(root, scenario);
    read_faults(root, mesh_known, scenario);
    return mesh_known;
}

void read_evaluation(const Section& root, Scenario& s) {
    const Section eval = root.section("eval");
    if (!eval.present()) return;
    eval.require("every");
    eval.require("samples");
    const int64_t last = root.section("train").sure("steps") ? s.steps : std::numeric_limits<int32_t>::max();
    s.evaluation.every = static_cast<int32_t>(eval.integer("every", {1, last}).value_or(0));
    s.evaluation.samples = eval.integer("samples", {1, kMostEvaluated}).value_or(0);
    const int64_t micro_batch = s.global_batch / data_parallel_size(s) / s.accumulate;
    s.evaluation.batch =
        eval.integer("batch", {1, kMostEvaluated}).value_or(std::max<int64_t>(1, micro_batch));
    refuse_combinations(eval, s);
}

}  // namespace meshscope::scenario
