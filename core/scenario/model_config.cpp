#include "core/scenario/model_config.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "core/base/joined.h"
#include "core/base/json_fields.h"
#include "core/base/json_text.h"
#include "core/base/text_file.h"
#include "core/scenario/diagnostics.h"

namespace meshscope::scenario {
namespace {

using nn::Activation;
using nn::NormPlace;
using nn::QkNorm;

/// What an architecture has whatever its file says, and what it has where the file says nothing: the defaults
/// of transformers' configuration classes.
struct Family {
    /// Which layers see a window of tokens only.
    enum class Window : uint8_t {
        never,
        all,         ///< mistral, phi3: `sliding_window`, unless null
        behind,      ///< qwen2, qwen3: with `use_sliding_window`, from layer `max_window_layers` on
        alternating  ///< gemma3_text: all but every `sliding_window_pattern`-th
    };
    std::string_view type;
    int64_t head_dim = 0;  ///< 0: hidden_size / num_attention_heads
    int64_t kv_heads = 0;  ///< 0: num_attention_heads
    int64_t context = 0;   ///< max_position_embeddings
    double norm_eps = 1e-6;
    double rope_theta = 10000.0;
    bool tied = false;
    bool qkv_bias = false;        ///< always
    bool attention_bias = false;  ///< where `attention_bias` says so: of all four projections
    bool mlp_bias = false;        ///< where `mlp_bias` says so
    std::string_view activation_field = "hidden_act";
    Activation activation = Activation::silu;
    QkNorm qk_norm = QkNorm::none;
    NormPlace norm_place = NormPlace::before;
    bool gemma = false;  ///< norms by 1 + weight, embeddings by √dim
    Window window = Window::never;
    int64_t window_tokens = 0;  ///< 0: none
};

constexpr std::array<Family, 8> kFamilies{
    Family{.type = "llama", .context = 2048, .attention_bias = true, .mlp_bias = true},
    Family{.type = "mistral",
           .kv_heads = 8,
           .context = 131072,
           .window = Family::Window::all,
           .window_tokens = 4096},
    Family{.type = "qwen2",
           .kv_heads = 32,
           .context = 32768,
           .qkv_bias = true,
           .window = Family::Window::behind,
           .window_tokens = 4096},
    Family{.type = "qwen3",
           .head_dim = 128,
           .kv_heads = 32,
           .context = 32768,
           .attention_bias = true,
           .qk_norm = QkNorm::head,
           .window = Family::Window::behind,
           .window_tokens = 4096},
    Family{.type = "gemma",
           .head_dim = 256,
           .kv_heads = 16,
           .context = 8192,
           .tied = true,
           .attention_bias = true,
           .activation = Activation::gelu_tanh,
           .gemma = true},
    Family{.type = "gemma3_text",
           .head_dim = 256,
           .kv_heads = 4,
           .context = 131072,
           .rope_theta = 1e6,
           .tied = true,
           .attention_bias = true,
           .activation_field = "hidden_activation",
           .activation = Activation::gelu_tanh,
           .qk_norm = QkNorm::head,
           .norm_place = NormPlace::both,
           .gemma = true,
           .window = Family::Window::alternating,
           .window_tokens = 4096},
    Family{.type = "phi3", .context = 4096, .norm_eps = 1e-5, .window = Family::Window::all},
    Family{.type = "olmo2",
           .context = 2048,
           .norm_eps = 1e-5,
           .attention_bias = true,
           .qk_norm = QkNorm::width,
           .norm_place = NormPlace::after},
};
constexpr std::string_view kGpt2 = "gpt2";

std::vector<std::string_view> known_types() {
    std::vector<std::string_view> all;
    for (const Family& family : kFamilies) all.push_back(family.type);
    all.push_back(kGpt2);
    return all;
}

constexpr int64_t kMostLayers = 10000;
constexpr int64_t kMostTokens = nn::kMostSize;

/// Reads one size that has to be there.
void read_size(const JsonFields& c, std::string_view field, int64_t& into, int64_t most = nn::kMostSize) {
    if (c.require(field)) into = c.whole(field, 1, most).value_or(0);
}

void read_activation(const JsonFields& c, std::string_view field, bool gated,
                     std::optional<Activation>& into) {
    const std::optional<std::string> word = c.text(field);
    if (!word) return;
    struct Word {
        std::string_view word;
        Activation activation;
    };
    constexpr std::array<Word, 7> kWords{Word{"silu", Activation::silu},
                                         Word{"swish", Activation::silu},
                                         Word{"gelu", Activation::gelu},
                                         Word{"gelu_new", Activation::gelu_tanh},
                                         Word{"gelu_fast", Activation::gelu_tanh},
                                         Word{"gelu_pytorch_tanh", Activation::gelu_tanh},
                                         Word{"relu", Activation::relu}};
    std::vector<std::string_view> known;
    for (const Word& each : kWords) {
        if (each.activation == (gated ? Activation::relu : Activation::silu)) continue;
        known.push_back(each.word);
        if (each.word != *word) continue;
        into = each.activation;
        return;
    }
    c.report({"config.unknown_word", {{"field", c.full(field)}, {"word", *word}}},
             {"scenario.hint.known", {{"known", joined(known)}}});
}

/// Scaling and base of rotary positions from one object, of either generation of transformers.
void read_rope(const JsonFields& rope, double& theta, tensor::RopeScaling& scaling) {
    theta = rope.number("rope_theta", 0, 1e12).value_or(theta);
    if (const auto part = rope.number("partial_rotary_factor", 0, 1); part && *part != 1.0)
        rope.report({"config.partial_rotary", {{"field", rope.full("partial_rotary_factor")}}});
    const std::string_view field = rope.has("rope_type") ? "rope_type" : "type";
    const std::string type = rope.text(field).value_or("default");
    if (type == "default") return;
    if (type != "linear" && type != "llama3")
        return rope.report({"config.unknown_word", {{"field", rope.full(field)}, {"word", type}}},
                           {"scenario.hint.known", {{"known", std::string("default, linear, llama3")}}});
    if (rope.require("factor", "config.hint.factor"))
        scaling.factor = rope.number("factor", 0, 1e6).value_or(1.0);
    scaling.kind = type == "linear" ? tensor::RopeScaling::Kind::linear : tensor::RopeScaling::Kind::llama3;
    if (type == "linear") return;
    for (const auto& [name, into] : {std::pair("low_freq_factor", &scaling.low_freq_factor),
                                     std::pair("high_freq_factor", &scaling.high_freq_factor)})
        if (rope.require(name, "config.hint.factor")) *into = rope.number(name, 0, 1e6).value_or(*into);
    if (rope.require("original_max_position_embeddings"))
        scaling.original_tokens =
            rope.whole("original_max_position_embeddings", 1, kMostTokens).value_or(scaling.original_tokens);
    if (scaling.high_freq_factor <= scaling.low_freq_factor)
        rope.report({"config.rope_factors", {{"field", rope.full("high_freq_factor")}}});
}

void read_positions(const JsonFields& c, const Family& family, nn::ModelSpec& spec) {
    spec.rope_theta = family.rope_theta;
    spec.rope_halves = true;
    read_rope(c, spec.rope_theta, spec.rope_scaling);
    if (const auto old = c.object("rope_scaling")) read_rope(*old, spec.rope_theta, spec.rope_scaling);
    const bool by_layer = family.window == Family::Window::alternating;
    if (by_layer) spec.window_rope_theta = c.number("rope_local_base_freq", 0, 1e12).value_or(10000.0);
    const std::optional<JsonFields> parameters = c.object("rope_parameters");
    if (!parameters) return;
    const std::optional<JsonFields> full = parameters->object("full_attention");
    read_rope(full ? *full : *parameters, spec.rope_theta, spec.rope_scaling);
    if (const std::optional<JsonFields> local = parameters->object("sliding_attention")) {
        tensor::RopeScaling none;
        read_rope(*local, spec.window_rope_theta, none);
        if (none.kind != tensor::RopeScaling::Kind::none)
            local->report({"config.unknown_word",
                           {{"field", local->full("rope_type")}, {"word", *local->text("rope_type")}}},
                          {"scenario.hint.known", {{"known", std::string("default")}}});
    }
}

/// Which layers see all tokens, as `layer_types` lists them: false where it cannot be used.
bool read_layer_types(const JsonFields& c, nn::ModelSpec& spec) {
    const std::optional<std::vector<std::string>> types = c.texts("layer_types");
    if (!types) return false;
    if (static_cast<int64_t>(types->size()) != spec.layers && spec.layers > 0) {
        c.report({"config.layer_types",
                  {{"listed", static_cast<int64_t>(types->size())}, {"layers", spec.layers}}});
        return false;
    }
    for (std::size_t i = 0; i < types->size(); ++i) {
        if ((*types)[i] == "full_attention")
            spec.full_attention.push_back(static_cast<int64_t>(i));
        else if ((*types)[i] != "sliding_attention")
            c.report({"config.unknown_word", {{"field", c.full("layer_types")}, {"word", (*types)[i]}}},
                     {"scenario.hint.known", {{"known", std::string("full_attention, sliding_attention")}}});
    }
    return true;
}

void read_window(const JsonFields& c, bool given_null, const Family& family, nn::ModelSpec& spec) {
    if (family.window == Family::Window::never) return;
    int64_t window = given_null ? 0 : family.window_tokens;
    window = c.whole("sliding_window", 1, kMostTokens).value_or(window);
    const bool qwen = family.window == Family::Window::behind;
    if (qwen && !c.boolean("use_sliding_window").value_or(false)) window = 0;
    if (window == 0) return;
    spec.window = window;
    if (read_layer_types(c, spec) || family.window == Family::Window::all) return;
    const int64_t first = qwen ? c.whole("max_window_layers", 0, kMostLayers).value_or(28) : 0;
    const int64_t pattern = qwen ? 0 : c.whole("sliding_window_pattern", 1, kMostLayers).value_or(6);
    for (int64_t i = 0; i < spec.layers; ++i)
        if (qwen ? i < first : (i + 1) % pattern == 0) spec.full_attention.push_back(i);
    if (qwen && first >= spec.layers) spec.window = 0;  // no layer has it
}

/// Numbers that contradict each other; the sizes themselves were read, or reported and are 0.
void check_heads(const JsonFields& c, std::string_view width, std::string_view heads,
                 const nn::ModelSpec& spec) {
    if (spec.heads < 1 || spec.dim < 1) return;
    if (spec.head_dim == 0 && spec.dim % spec.heads != 0)
        return c.report({"config.heads",
                         {{"width", std::string(width)},
                          {"dim", spec.dim},
                          {"field", std::string(heads)},
                          {"heads", spec.heads}}});
    if (spec.kind == "llama" && spec.head_width() % 2 != 0)
        c.report({"config.odd_head_dim", {{"head_dim", spec.head_width()}}});
    if (spec.kv_heads > 0 && spec.heads % spec.kv_heads != 0)
        c.report({"config.kv_heads",
                  {{"kv_heads", spec.kv_heads}, {"field", std::string(heads)}, {"heads", spec.heads}}});
}

/// A field whose only value that this version can do is `only`.
void expect_only(const JsonFields& c, std::string_view field, bool only) {
    if (c.boolean(field).value_or(only) != only)
        c.report({"config.not_supported", {{"field", c.full(field)}}},
                 {"config.hint.only", {{"value", std::string(only ? "true" : "false")}}});
}

void read_llama(const JsonFields& c, bool null_window, const Family& family, nn::ModelSpec& spec) {
    spec.kind = "llama";
    read_size(c, "hidden_size", spec.dim);
    read_size(c, "intermediate_size", spec.hidden);
    read_size(c, "num_hidden_layers", spec.layers, kMostLayers);
    read_size(c, "num_attention_heads", spec.heads);
    read_size(c, "vocab_size", spec.vocab);
    spec.kv_heads = c.whole("num_key_value_heads", 1, nn::kMostSize)
                        .value_or(family.kv_heads > 0 ? family.kv_heads : spec.heads);
    spec.head_dim = c.whole("head_dim", 1, nn::kMostSize).value_or(family.head_dim);
    check_heads(c, "hidden_size", "num_attention_heads", spec);
    spec.seq = c.whole("max_position_embeddings", 1, kMostTokens).value_or(family.context);
    spec.norm_eps = c.number("rms_norm_eps", 0, 1).value_or(family.norm_eps);
    spec.tied = c.boolean("tie_word_embeddings").value_or(family.tied);
    spec.activation = family.activation;
    read_activation(c, family.activation_field, true, spec.activation);
    const bool attention_bias = family.attention_bias && c.boolean("attention_bias").value_or(false);
    spec.qkv_bias = family.qkv_bias || attention_bias;
    spec.out_bias = attention_bias;
    spec.mlp_bias = family.mlp_bias && c.boolean("mlp_bias").value_or(false);
    spec.qk_norm = family.qk_norm;
    spec.norm_place = family.norm_place;
    spec.zero_centered_norm = spec.scaled_embedding = family.gemma;
    read_positions(c, family, spec);
    read_window(c, null_window, family, spec);
    if (family.gemma) expect_only(c, "use_bidirectional_attention", false);
    if (family.type != "gemma3_text") return;
    const double scalar = c.number("query_pre_attn_scalar", 0, 1e6).value_or(256);
    if (spec.head_dim > 0 && scalar != static_cast<double>(spec.head_dim))
        spec.attention_scale = 1.0 / std::sqrt(scalar);
    for (const std::string_view field : {"attn_logit_softcapping", "final_logit_softcapping"})
        if (c.has(field))
            c.report({"config.not_supported", {{"field", std::string(field)}}},
                     {"config.hint.only", {{"value", std::string("null")}}});
}

void read_gpt2(const JsonFields& c, nn::ModelSpec& spec) {
    spec.kind = "gpt";
    read_size(c, "n_embd", spec.dim);
    read_size(c, "n_layer", spec.layers, kMostLayers);
    read_size(c, "n_head", spec.heads);
    read_size(c, "vocab_size", spec.vocab);
    read_size(c, "n_positions", spec.seq);
    spec.kv_heads = spec.heads;
    spec.hidden = c.whole("n_inner", 1, nn::kMostSize).value_or(4 * spec.dim);
    check_heads(c, "n_embd", "n_head", spec);
    spec.norm_eps = c.number("layer_norm_epsilon", 0, 1).value_or(1e-5);
    spec.tied = c.boolean("tie_word_embeddings").value_or(true);
    spec.block_bias = true;
    spec.activation = Activation::gelu_tanh;
    read_activation(c, "activation_function", false, spec.activation);
    expect_only(c, "scale_attn_weights", true);
    expect_only(c, "scale_attn_by_inverse_layer_idx", false);
    expect_only(c, "add_cross_attention", false);
}

/// Whether it is a mixture of experts, or has latent attention: reported then.
bool refuse_not_dense(const JsonFields& c, const std::string& type) {
    for (const std::string_view field :
         {"num_local_experts", "num_experts", "n_routed_experts", "moe_num_experts"}) {
        if (!c.has(field) || c.whole(field, 0, nn::kMostSize).value_or(2) < 2) continue;
        c.report({"config.mixture", {{"type", type}, {"field", std::string(field)}}},
                 {"config.hint.dense", {{"known", joined(known_types())}}});
        return true;
    }
    if (!c.has("kv_lora_rank")) return false;
    c.report({"config.latent", {{"type", type}}}, {"config.hint.dense", {{"known", joined(known_types())}}});
    return true;
}

/// What its weights are saved in: `dtype`, or as transformers 4 has it `torch_dtype`.
std::string read_dtype(const JsonFields& c) {
    const std::string now = c.text("dtype").value_or(""), old = c.text("torch_dtype").value_or("");
    if (!now.empty() && !old.empty() && now != old)
        c.report({"config.two_dtypes", {{"dtype", now}, {"torch_dtype", old}}});
    return now.empty() ? old : now;
}

/// A class that is not the causal language model: it has another head, or none.
void check_class(const JsonFields& c) {
    const std::optional<std::vector<std::string>> classes = c.texts("architectures");
    if (!classes || classes->empty()) return;
    const std::string& name = classes->front();
    if (name.ends_with("ForCausalLM") || name.ends_with("LMHeadModel")) return;
    c.report({"config.not_causal", {{"class", name}}});
}

void read_into(const JsonFields& c, bool null_window, ModelConfig& config) {
    if (!c.require("model_type", "config.hint.type")) return;
    config.model_type = c.text("model_type").value_or("");
    if (config.model_type.empty() || refuse_not_dense(c, config.model_type)) return;
    config.dtype = read_dtype(c);
    const auto family =
        std::ranges::find_if(kFamilies, [&](const Family& each) { return each.type == config.model_type; });
    if (family == kFamilies.end() && config.model_type != kGpt2)
        return c.report({"config.unknown_type", {{"type", config.model_type}}},
                        hint_for(config.model_type, known_types()));
    check_class(c);
    if (family == kFamilies.end())
        read_gpt2(c, config.spec);
    else
        read_llama(c, null_window, *family, config.spec);
}

}  // namespace

ModelConfig read_model_config(const std::string& path) {
    const auto json = parse_json<nlohmann::json>(read_text_file(path));
    std::vector<Diagnostic> found;
    ModelConfig config;
    if (json.is_object()) {
        const JsonFields fields(json, path, found);
        const auto window = json.find("sliding_window");
        read_into(fields, window != json.end() && window->is_null(), config);
    } else {
        found.push_back({{"config.not_json", {}}, {path, 0, 0, -1}, {}});
    }
    if (!found.empty()) throw InputError(std::move(found));
    return config;
}

}  // namespace meshscope::scenario
