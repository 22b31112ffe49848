#include "core/scenario/named_model.h"

#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "core/base/error.h"
#include "core/base/joined.h"
#include "core/base/toml_text.h"
#include "core/scenario/model_config.h"
#include "core/scenario/scenario.h"
#include "core/scenario/words.h"

namespace meshscope::scenario {
namespace {

/// "key = value" lines of what is not as it is by itself.
class ModelWriter {
  public:
    explicit ModelWriter(const nn::ModelSpec& spec) : spec_(spec) {}

    std::string write() {
        text_ = "[model]\n";
        word("kind", spec_.kind);
        for (const auto& [key, size] :
             {std::pair("dim", spec_.dim), std::pair("hidden", spec_.hidden),
              std::pair("layers", spec_.layers), std::pair("vocab", spec_.vocab),
              std::pair("vocab_multiple", spec_.vocab_multiple), std::pair("seq", spec_.seq),
              std::pair("heads", spec_.heads), std::pair("head_dim", spec_.head_dim),
              std::pair("window", spec_.window), std::pair("lora_rank", spec_.lora_rank)})
            if (size != 0) line(key, std::to_string(size));
        if (spec_.lora_rank > 0) lora();
        flag("tied", spec_.tied);
        number("norm_eps", spec_.norm_eps, 1e-5);
        number("attention_scale", spec_.attention_scale, 0);
        if (spec_.activation) word("activation", activations()[static_cast<std::size_t>(*spec_.activation)]);
        if (spec_.window > 0 && !spec_.full_attention.empty()) full_attention();
        if (spec_.kind == "llama")
            llama();
        else
            flag("bias", spec_.block_bias);
        return std::move(text_);
    }

  private:
    void line(std::string_view key, const std::string& value) {
        text_ += std::string(key) + " = " + value + "\n";
    }
    void word(std::string_view key, std::string_view value) { line(key, toml_string(value)); }
    void flag(std::string_view key, bool value) {
        if (value) line(key, "true");
    }
    /// With as many digits as read back the same.
    void number(std::string_view key, double value, double usual) {
        if (value != usual) line(key, nlohmann::json(value).dump());
    }
    void lora() {
        number("lora_alpha", spec_.lora_alpha, 8);
        if (!spec_.lora_targets.empty())
            line("lora_targets", "[" + joined(spec_.lora_targets, toml_string) + "]");
    }
    void full_attention() { line("full_attention", "[" + joined_numbers(spec_.full_attention) + "]"); }
    void llama() {
        line("kv_heads", std::to_string(spec_.kv_heads));
        number("rope_theta", spec_.rope_theta, 10000);
        number("window_rope_theta", spec_.window_rope_theta, 0);
        if (spec_.rope_halves) word("rope_pairs", "halves");
        flag("qkv_bias", spec_.qkv_bias);
        flag("out_bias", spec_.out_bias);
        flag("mlp_bias", spec_.mlp_bias);
        flag("zero_centered_norm", spec_.zero_centered_norm);
        flag("scaled_embedding", spec_.scaled_embedding);
        if (spec_.qk_norm != nn::QkNorm::none)
            word("qk_norm", qk_norms()[static_cast<std::size_t>(spec_.qk_norm)]);
        if (spec_.norm_place != nn::NormPlace::before)
            word("norm_place", norm_places()[static_cast<std::size_t>(spec_.norm_place)]);
        using Kind = tensor::RopeScaling::Kind;
        const tensor::RopeScaling& scaling = spec_.rope_scaling;
        if (scaling.kind == Kind::none) return;
        text_ += "\n[model.rope_scaling]\n";
        word("kind", rope_scalings()[static_cast<std::size_t>(scaling.kind)]);
        line("factor", nlohmann::json(scaling.factor).dump());
        if (scaling.kind != Kind::llama3) return;
        number("low_freq_factor", scaling.low_freq_factor, 1);
        number("high_freq_factor", scaling.high_freq_factor, 4);
        line("original_seq", std::to_string(scaling.original_tokens));
    }

    const nn::ModelSpec& spec_;
    std::string text_;
};

bool names_config(const std::string& name) {
    return name.starts_with(kConfigPrefix) && name.size() > kConfigPrefix.size();
}

}  // namespace

bool names_model(const std::string& name) {
    return names_config(name) || name.ends_with(".toml");
}

nn::ModelSpec architecture_of(nn::ModelSpec spec) {
    const nn::ModelSpec whole;
    spec.lora_rank = whole.lora_rank;
    spec.lora_alpha = whole.lora_alpha;
    spec.lora_targets = whole.lora_targets;
    spec.frozen = whole.frozen;
    return spec;
}

NamedModel named_model(const std::string& name) {
    if (names_config(name)) {
        ModelConfig config = read_model_config(name.substr(kConfigPrefix.size()));
        const int64_t most = config.spec.seq;
        return {std::move(config.spec), std::move(config.model_type), std::move(config.dtype), most};
    }
    if (!names_model(name)) throw InvalidArgument({"cli.model.bad_name", {{"name", name}}});
    Scenario s = read_scenario(name);
    if (!s.calls.empty()) throw InvalidArgument({"cli.model.no_model", {{"path", name}}});
    std::optional<int64_t> most;
    if (!s.model_config.empty()) most = read_model_config(s.model_config).spec.seq;
    return {architecture_of(s.model), s.model.kind, "", most};
}

std::string model_text(const nn::ModelSpec& spec) {
    return ModelWriter(spec).write();
}

}  // namespace meshscope::scenario
