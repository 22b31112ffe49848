#include "core/scenario/keys.h"

#include <algorithm>
#include <array>
#include <deque>
#include <string>

#include "core/parallel/declaration.h"
#include "core/parallel/model_declaration.h"

namespace meshscope::scenario {
namespace {

constexpr Key kKeys[] = {
    {"", "format", "integer", "required"},
    {"", "title", "table", "(none)"},
    {"", "model", "table or string", "required but with call"},
    {"", "data", "table", "(none)"},
    {"", "train", "table", "required but with call"},
    {"", "optimizer", "table", "(none)"},
    {"", "mesh", "table", "(none)"},
    {"", "parallel", "table", "(none)"},
    {"", "memory", "table", "(none)"},
    {"", "eval", "table", "(none)"},
    {"", "checkpoint", "table", "(none)"},
    {"", "record", "table", "(none)"},
    {"", "run", "table", "(none)"},
    {"", "hardware", "table", "(none)"},
    {"", "lesson", "table", "(none)"},
    {"", "quiz", "tables", "(none)"},
    {"", "check", "tables", "(none)"},
    {"", "faults", "tables", "(none)"},
    {"", "call", "tables", "(none)"},
    {"", "compare", "table", "(none)"},

    {"title", "en", "string", "\"\""},
    {"title", "zh", "string", "\"\""},

    {"model", "kind", "string", "required"},
    {"model", "dim", "integer", "required but for toy"},
    {"model", "hidden", "integer", "required but for toy"},
    {"model", "layers", "integer", "required but for toy"},
    {"model", "seed", "integer", "0"},
    {"model", "weights", "string", "(none)"},
    {"model", "bias", "boolean", "true for mlp, false for gpt"},
    {"model", "norm", "string", "(none)"},
    {"model", "vocab", "integer", "required for gpt, llama"},
    {"model", "vocab_multiple", "integer", "1"},
    {"model", "seq", "integer", "required for gpt, llama"},
    {"model", "heads", "integer", "required for gpt, llama"},
    {"model", "kv_heads", "integer", "heads"},
    {"model", "rope_theta", "number", "10000.0"},
    {"model", "tied", "boolean", "false"},
    {"model", "head_dim", "integer", "dim / heads"},
    {"model", "activation", "string", "\"gelu_tanh\" for gpt, \"silu\" for llama"},
    {"model", "norm_eps", "number", "1e-5"},
    {"model", "window", "integer", "0"},
    {"model", "full_attention", "array of integers", "(none)"},
    {"model", "attention_scale", "number", "1/√head_dim"},
    {"model", "qkv_bias", "boolean", "false"},
    {"model", "out_bias", "boolean", "false"},
    {"model", "mlp_bias", "boolean", "false"},
    {"model", "qk_norm", "string", "\"none\""},
    {"model", "norm_place", "string", "\"before\""},
    {"model", "zero_centered_norm", "boolean", "false"},
    {"model", "scaled_embedding", "boolean", "false"},
    {"model", "rope_pairs", "string", "\"neighbours\""},
    {"model", "rope_scaling", "table", "(none)"},
    {"model", "window_rope_theta", "number", "rope_theta"},
    {"model", "lora_rank", "integer", "0"},
    {"model", "lora_alpha", "number", "8.0"},
    {"model", "lora_targets", "array of strings", "all but the head"},
    {"model", "experts", "integer", "(none)", KeySupport::later},
    {"model", "experts_per_token", "integer", "(none)", KeySupport::later},
    {"model", "expert_hidden", "integer", "hidden", KeySupport::later},
    {"model", "latent_attention", "boolean", "false", KeySupport::later},

    {"model.rope_scaling", "kind", "string", "required"},
    {"model.rope_scaling", "factor", "number", "required but for none"},
    {"model.rope_scaling", "low_freq_factor", "number", "1.0"},
    {"model.rope_scaling", "high_freq_factor", "number", "4.0"},
    {"model.rope_scaling", "original_seq", "integer", "8192"},

    {"data", "file", "string", "(none)"},
    {"data", "kind", "string", "by model"},
    {"data", "samples", "integer", "0"},
    {"data", "seed", "integer", "0"},
    {"data", "sampler", "string", "\"contiguous\""},
    {"data", "shuffle", "boolean", "false"},
    {"data", "drop_last", "boolean", "false"},
    {"data", "batches", "array of integers", "(none)"},
    {"data", "lengths", "array of integers", "(none)"},
    {"data", "ignore_index", "integer", "-100 with lengths, else none"},

    {"train", "steps", "integer", "required"},
    {"train", "global_batch", "integer", "required"},
    {"train", "accumulate", "integer", "1"},
    {"train", "micro_batch", "integer", "(none)"},
    {"train", "clip_norm", "number", "(none)"},
    {"train", "frozen", "array of strings", "(none)"},
    {"train", "dtype", "string", "\"float32\""},

    {"optimizer", "kind", "string", "\"sgd\""},
    {"optimizer", "lr", "number", "0.1"},
    {"optimizer", "momentum", "number", "0.0"},
    {"optimizer", "betas", "array of numbers", "[0.9, 0.999]"},
    {"optimizer", "eps", "number", "1e-8"},
    {"optimizer", "weight_decay", "number", "0.01 for adamw, else 0.0"},

    {"mesh", "shape", "array of integers", "[1]"},
    {"mesh", "names", "array of strings", "by strategy"},
    {"mesh", "world", "integer", "the mesh's size"},

    {"parallel", "data", "string", "\"none\""},
    {"parallel", "algorithm", "string", "\"ring\""},
    // The rest of [train] and [parallel] is declared in core/parallel.

    {"memory", "ops", "string", "\"fused\""},
    {"memory", "norm", "string", "\"composed\""},
    {"memory", "loss", "string", "\"composed\""},

    {"eval", "every", "integer", "required"},
    {"eval", "samples", "integer", "required"},
    {"eval", "batch", "integer", "a micro-batch"},

    {"checkpoint", "folder", "string", "(none)"},
    {"checkpoint", "every", "integer", "0"},
    {"checkpoint", "kind", "string", "\"sharded\""},
    {"checkpoint", "keep", "integer", "0"},
    {"checkpoint", "resume", "string", "(none)"},
    {"checkpoint", "temporary", "boolean", "false"},
    {"checkpoint", "restart_after", "integer", "0"},

    {"record", "level", "string", "\"values\""},

    {"run", "checked", "boolean", "true for lessons, with faults and with calls of up to 256 ranks"},
    {"run", "backend", "string", "\"threads\""},
    {"run", "schedule", "string", "(none)"},
    {"run", "expect", "string", "(none)"},

    {"faults", "kind", "string", "required"},
    {"faults", "rank", "integer", "required"},
    {"faults", "step", "integer", "required"},
    {"faults", "round", "integer or \"every\"", "0"},
    {"faults", "phase", "string", "(none)"},
    {"faults", "at", "integer", "0"},
    {"faults", "unit", "string", "(none)"},
    {"faults", "rule", "string", "(none)"},
    {"faults", "hop", "integer", "(none)"},
    {"faults", "ms", "integer", "100"},
    {"faults", "field", "string", "required for mismatch"},
    {"faults", "bit", "integer", "30"},

    {"call", "op", "string", "required but with work"},
    {"call", "work", "string", "(none)"},
    {"call", "bytes", "integer", "required with work"},
    {"call", "label", "string", "what it does"},
    {"call", "group", "string or array of integers", "all ranks of the mesh"},
    {"call", "ranks", "array of integers", "all of the group"},
    {"call", "reduce", "string", "\"sum\""},
    {"call", "factor", "number", "required for premul_sum"},
    {"call", "root", "integer", "the group's first rank"},
    {"call", "src", "integer", "required for send, recv, send_recv"},
    {"call", "dst", "integer", "required for send, recv, send_recv"},
    {"call", "eager", "boolean", "false"},
    {"call", "dtype", "string", "\"float32\""},
    {"call", "elements", "integer", "required without values"},
    {"call", "fill", "string", "\"arange\""},
    {"call", "offset", "number", "0.0"},
    {"call", "values", "array of arrays of numbers", "(none)"},

    {"compare", "strategies", "array of strings", "(none)"},
    {"compare", "scenarios", "array of strings", "(none)"},

    {"hardware", "ranks_per_node", "integer", "the mesh's first dim"},
    {"hardware", "profile", "string", "\"classroom\""},

    {"lesson", "chapter", "integer", "(none)"},
    {"lesson", "only_threads", "table", "(none)"},
    {"lesson", "step", "tables", "(none)"},
    {"lesson", "number", "tables", "(none)"},
    {"lesson", "variant", "tables", "(none)"},

    {"lesson.only_threads", "en", "string", "required"},
    {"lesson.only_threads", "zh", "string", "required"},

    {"lesson.step", "id", "string", "required"},
    {"lesson.step", "view", "string", "\"timeline\""},
    {"lesson.step", "form", "string", "the view's first"},
    {"lesson.step", "beside", "array of strings", "(none)"},
    {"lesson.step", "run", "string", "the lesson's own"},
    {"lesson.step", "at", "string", "\"\""},
    {"lesson.step", "slice", "string", "\"\""},
    {"lesson.step", "rank", "integer", "(none)"},
    {"lesson.step", "mesh", "table", "(none)"},

    {"lesson.step.mesh", "shape", "array of integers", "required"},
    {"lesson.step.mesh", "names", "array of strings", "(none)"},

    {"lesson.number", "id", "string", "required"},
    {"lesson.number", "sql", "string", "required but with most modelled, and with estimate"},
    {"lesson.number", "modelled", "string", "(none)"},
    {"lesson.number", "rank", "integer", "0"},
    {"lesson.number", "hardware", "string", "the scenario's"},
    {"lesson.number", "decimals", "integer", "1"},
    {"lesson.number", "estimate", "table", "(none)"},

    {"lesson.number.estimate", "figure", "string", "required"},
    {"lesson.number.estimate", "published", "string", "(none)"},
    {"lesson.number.estimate", "config", "string", "required without published"},
    {"lesson.number.estimate", "gpu", "string", "\"h100\""},
    {"lesson.number.estimate", "stack", "string", "\"torchtitan\""},
    {"lesson.number.estimate", "gpus", "integer", "8"},
    {"lesson.number.estimate", "gpus_per_node", "integer", "8"},
    {"lesson.number.estimate", "seq", "integer", "the configuration's"},
    {"lesson.number.estimate", "global_batch", "integer", "one a GPU"},
    {"lesson.number.estimate", "lora", "integer", "0"},
    {"lesson.number.estimate", "base_bits", "integer", "16"},
    {"lesson.number.estimate", "tp", "integer", "any"},
    {"lesson.number.estimate", "cp", "integer", "any"},
    {"lesson.number.estimate", "pp", "integer", "any"},
    {"lesson.number.estimate", "stages", "integer", "any"},
    {"lesson.number.estimate", "zero", "integer", "any"},
    {"lesson.number.estimate", "micro", "integer", "any"},
    {"lesson.number.estimate", "recompute", "string", "any"},

    {"lesson.variant", "id", "string", "required"},
    {"lesson.variant", "set", "table", "(none)"},
    {"lesson.variant", "unset", "array of strings", "(none)"},
    {"lesson.variant", "ends", "string", "(none)"},
    {"lesson.variant", "number", "tables", "(none)"},

    {"lesson.variant.number", "id", "string", "required"},
    {"lesson.variant.number", "sql", "string", "required but with most modelled"},
    {"lesson.variant.number", "modelled", "string", "(none)"},
    {"lesson.variant.number", "rank", "integer", "0"},
    {"lesson.variant.number", "hardware", "string", "the scenario's"},
    {"lesson.variant.number", "decimals", "integer", "1"},

    {"quiz", "id", "string", "required"},
    {"quiz", "step", "string", "required"},
    {"quiz", "kind", "string", "required"},
    {"quiz", "question", "table", "required"},
    {"quiz", "answer", "string", "required but for choice"},
    {"quiz", "tolerance", "number", "0.0"},
    {"quiz", "choice", "tables", "(none)"},
    {"quiz", "hint", "tables", "(none)"},
    {"quiz", "reveal", "table", "(none)"},

    {"quiz.question", "en", "string", "required"},
    {"quiz.question", "zh", "string", "required"},
    {"quiz.reveal", "en", "string", "required"},
    {"quiz.reveal", "zh", "string", "required"},

    {"quiz.choice", "en", "string", "required"},
    {"quiz.choice", "zh", "string", "required"},
    {"quiz.choice", "right", "boolean", "false"},
    {"quiz.choice", "hint", "table", "(none)"},
    {"quiz.choice.hint", "en", "string", "required"},
    {"quiz.choice.hint", "zh", "string", "required"},

    {"quiz.hint", "when", "string", "required"},
    {"quiz.hint", "en", "string", "required"},
    {"quiz.hint", "zh", "string", "required"},

    {"check", "id", "string", "required"},
    {"check", "sql", "string", "required"},
    {"check", "title", "table", "(none)"},
    {"check.title", "en", "string", "required"},
    {"check.title", "zh", "string", "required"},
};

using parallel::StrategyKey;

/// The type of a key as all strategies together declare it.
std::string declared_type(std::string_view name) {
    std::vector<const StrategyKey*> declared;
    for (const parallel::Declaration* const strategy : parallel::strategies())
        if (const StrategyKey* const key = strategy->key(name)) declared.push_back(key);
    return parallel::type_of(declared);
}

/// The keys that core/parallel declares.
struct DeclaredKeys {
    std::deque<std::string> texts;  ///< types, and names of tables, that no declaration holds as such
    std::vector<Key> keys;

    std::string_view text(std::string made) { return texts.emplace_back(std::move(made)); }
    void add(std::string_view table, const StrategyKey& key, std::string type) {
        keys.push_back({table, key.name, text(std::move(type)), key.fallback});
    }
};

DeclaredKeys declared_keys() {
    DeclaredKeys declared;
    for (const parallel::ModelDeclaration* const each : parallel::model_declarations())
        for (const StrategyKey& key : each->keys) declared.add(each->table, key, key.type());
    for (const StrategyKey& key : parallel::strategy_keys())
        declared.add("parallel", key, declared_type(key.name));
    for (const StrategyKey& key : parallel::strategy_keys())
        if (const auto* table = std::get_if<StrategyKey::Table>(&key.value)) {
            const std::string_view name = declared.text("parallel." + std::string(key.name));
            for (const StrategyKey& inner : table->keys()) declared.add(name, inner, inner.type());
        }
    return declared;
}

/// Whether a table is that one or stands in it.
bool is_within(std::string_view table, std::string_view outer) {
    return table == outer || (table.starts_with(outer) && table.substr(outer.size()).starts_with('.'));
}

}  // namespace

std::span<const Key> keys() {
    static const DeclaredKeys kDeclared = declared_keys();
    static const std::vector<Key> kAll = [] {
        std::vector<Key> all;
        for (std::size_t i = 0; i < std::size(kKeys); ++i) {
            all.push_back(kKeys[i]);
            const std::string_view table = kKeys[i].table;
            if (i + 1 < std::size(kKeys) && kKeys[i + 1].table == table) continue;
            for (const Key& key : kDeclared.keys)  // behind the table's own
                if (is_within(key.table, table)) all.push_back(key);
        }
        return all;
    }();
    return kAll;
}

std::vector<Key> keys_of(std::string_view table) {
    std::vector<Key> result;
    for (const Key& key : keys())
        if (key.table == table) result.push_back(key);
    return result;
}

}  // namespace meshscope::scenario
