#include "core/jobs/torchtitan_model.h"

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/json_text.h"
#include "core/jobs/programs.h"

namespace meshscope::jobs {
namespace {

using nlohmann::json;

/// A whole number somewhere inside, by a path of keys.
std::optional<int64_t> whole_at(const json& table, std::initializer_list<const char*> path) {
    const json* value = &table;
    for (const char* key : path) {
        if (!value->is_object() || !value->contains(key)) return std::nullopt;
        value = &(*value)[key];
    }
    return json_whole<int64_t>(*value);
}

const json* node_of(const json& table, const char* key) {
    const auto found = table.find(key);
    return found == table.end() || found->is_null() ? nullptr : &*found;
}

/// A layer's sizes.
struct Layer {
    std::optional<int64_t> heads, kv_heads, head_dim, hidden;
    bool experts = false, latent = false, bias = false, qk_norm = false;
    friend bool operator==(const Layer&, const Layer&) = default;
};

Layer layer_of(const json& layer) {
    Layer made;
    made.experts = node_of(layer, "moe") != nullptr;
    made.hidden = whole_at(layer, {"feed_forward", "w1", "out_features"});
    if (!made.hidden) made.hidden = whole_at(layer, {"feed_forward", "w13", "out_features"});
    const json* const attention = node_of(layer, "attention");
    if (attention == nullptr || !attention->is_object()) return made;
    made.heads = whole_at(*attention, {"n_heads"});
    made.kv_heads = whole_at(*attention, {"qkv_linear", "n_kv_heads"});
    if (!made.kv_heads) made.kv_heads = whole_at(*attention, {"n_kv_heads"});
    made.head_dim = whole_at(*attention, {"qkv_linear", "head_dim"});
    if (!made.head_dim) made.head_dim = whole_at(*attention, {"head_dim"});
    made.latent = attention->contains("kv_lora_rank");
    made.qk_norm = node_of(*attention, "qk_norm") != nullptr;
    const json* const qkv = node_of(*attention, "qkv_linear");
    if (qkv != nullptr && qkv->is_object() && qkv->contains("wqkv") && (*qkv)["wqkv"].is_object())
        made.bias = (*qkv)["wqkv"].value("bias", json(false)) == true;
    return made;
}

void read_saved(const json& model, const Table& spec, Job& job) {
    const Table sizes = spec.table("model");
    const json* const layers = node_of(model, "layers");
    if (layers == nullptr || !layers->is_array() || layers->empty()) {
        sizes.put("layers", "model.other", true);
        sizes.unsaid("layers", {"jobs.why.architecture", {}});
        return;
    }
    const Layer first = layer_of((*layers)[0]);
    sizes.put("layers", "model.layers", static_cast<int64_t>(layers->size()));
    sizes.take_whole("dim", "model.dim");
    sizes.take_whole("vocab_size", "model.vocab");
    const auto put = [&](const char* fact, const char* field, Value value) {
        job.facts.put(fact, std::move(value), sizes.origin(std::string("layers[0].") + field), job.found);
    };
    const auto put_size = [&](const char* fact, const std::string& key, std::optional<int64_t> n) {
        if (!n) return false;
        const Origin origin = sizes.origin(key);
        if (*n >= 1 && *n <= Table::kMostSize) {
            job.facts.put(fact, *n, origin, job.found);
            return true;
        }
        sizes.report({"scenario.out_of_range", {{"key", origin.key}, {"value", *n}}},
                     {"scenario.hint.range", {{"least", int64_t{1}}, {"most", Table::kMostSize}}});
        return false;
    };
    put("model.kind", "feed_forward", std::string("llama"));
    const bool headed = put_size("model.heads", "layers[0].attention.n_heads", first.heads);
    put_size("model.kv_heads", "layers[0].attention.n_kv_heads",
             first.kv_heads ? first.kv_heads : first.heads);
    put_size("model.hidden", "layers[0].feed_forward.w1.out_features", first.hidden);
    const auto dim = sizes.whole("dim");
    if (dim && headed && (*dim % *first.heads != 0 || first.head_dim != *dim / *first.heads))
        put_size("model.head_dim", "layers[0].attention.qkv_linear.head_dim", first.head_dim);
    if (first.bias) put("model.qkv_bias", "attention.qkv_linear.wqkv.bias", true);
    if (first.qk_norm) put("model.qk_norm", "attention.qk_norm", std::string("head"));
    if (const auto theta = whole_at((*layers)[0], {"attention", "rope", "theta"}))
        put("model.rope_theta", "attention.rope.theta", *theta);
    fall_back(job, "model.tied", false, "model.enable_weight_tying");
    bool equal = true, experts = false, latent = false;
    for (const json& each : *layers) {
        const Layer layer = layer_of(each);
        equal = equal && layer == first;
        experts = experts || layer.experts;
        latent = latent || layer.latent;
    }
    if (experts) {
        int64_t n = 2;
        for (const json& each : *layers)
            if (const json* const moe = node_of(each, "moe"); moe != nullptr) {
                if (const auto count = whole_at(*moe, {"num_experts"})) n = *count;
                if (const auto count = whole_at(*moe, {"routed_experts", "inner_experts", "num_experts"}))
                    n = *count;
                if (const auto count = whole_at(*moe, {"experts", "num_experts"})) n = *count;
            }
        put_size("model.experts", "layers", n);
        sizes.unsaid("layers", {"jobs.why.experts", {}});
    } else if (latent) {
        sizes.unsaid("layers", {"jobs.why.latent", {}});
    } else if (!equal && job.model_config.empty()) {
        sizes.unsaid("layers", {"jobs.why.unequal_layers", {}});
    }
    if (latent) sizes.put("layers", "model.latent_attention", true);
}

/// What llama3_configs of torchtitan has for a flavor.
struct Flavor {
    std::string_view name;
    int64_t dim, layers, heads, kv_heads, hidden, vocab;
};
constexpr Flavor kLlama3[] = {{"8B", 4096, 32, 32, 8, 14336, 128256},
                              {"70B", 8192, 80, 64, 8, 28672, 128256},
                              {"405B", 16384, 126, 128, 8, 53248, 128256}};

void read_flavor(const Table& model, Job& job) {
    const std::string name = model.text("name").value_or(""), flavor = model.text("flavor").value_or("");
    if (flavor.empty()) return;
    if (name != "llama3") {
        if (name.find("deepseek") != std::string::npos || name.find("moe") != std::string::npos ||
            name.find("llama4") != std::string::npos) {
            model.put("name", "model.other", true);
            model.unsaid("name", {"jobs.why.architecture", {}});
        }
        return;
    }
    for (const Flavor& each : kLlama3) {
        if (each.name != flavor) continue;
        // A figure's own name stands behind the flavor that it is of: "model.flavor \"8B\": n_heads".
        const auto put = [&](const char* fact, const char* field, Value value) {
            Origin origin = model.origin("flavor");
            origin.key += " \"" + flavor + "\": " + field;
            job.facts.put(fact, std::move(value), std::move(origin), job.found);
        };
        model.put("flavor", "model.kind", std::string("llama"));
        put("model.dim", "dim", each.dim);
        put("model.layers", "n_layers", each.layers);
        put("model.heads", "n_heads", each.heads);
        put("model.kv_heads", "n_kv_heads", each.kv_heads);
        put("model.hidden", "hidden_dim", each.hidden);
        put("model.vocab", "vocab_size", each.vocab);
        put("model.rope_theta", "rope_theta", int64_t{500'000});
        model.put("flavor", "model.tied", false);
    }
}

}  // namespace

void read_torchtitan_model(const Document& document, const Table& root, Job& job) {
    const auto spec = document.root.find("model_spec");
    if (spec != document.root.end() && spec->is_object()) {
        const Table table = root.table("model_spec");
        table.pass_over({"name", "flavor"});
        if (const json* const model = node_of(*spec, "model"); model != nullptr && model->is_object()) {
            read_saved(*model, table, job);
            table.seen("model");
        }
        return;
    }
    read_flavor(root.table("model"), job);
}

}  // namespace meshscope::jobs
