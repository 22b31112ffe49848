#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "core/base/joined.h"
#include "core/nn/model/frozen.h"
#include "core/scenario/readers.h"
#include "core/scenario/words.h"

namespace meshscope::scenario {
namespace {

void read_rope_scaling(const Section& model, tensor::RopeScaling& scaling) {
    if (!model.has("rope_scaling")) return;
    const Section section = model.section("rope_scaling");
    if (!section.present()) return;
    using Kind = tensor::RopeScaling::Kind;
    tensor::RopeScaling read;
    section.require("kind");
    const std::optional<std::string> word = section.word("kind", rope_scalings());
    if (word) read.kind = enumerator<Kind>(rope_scalings(), *word);
    const auto factor = [&](std::string_view key, double& into) {
        into = section.number(key, {0, 1e6, false}).value_or(into);
    };
    if (word && read.kind != Kind::none) section.require("factor");
    factor("factor", read.factor);
    factor("low_freq_factor", read.low_freq_factor);
    factor("high_freq_factor", read.high_freq_factor);
    read.original_tokens = section.integer("original_seq", {1, nn::kMostSize}).value_or(read.original_tokens);
    if (word && read.kind == Kind::none) refuse_for_kind(section, {"factor"}, *word);
    if (word && read.kind != Kind::llama3)
        refuse_for_kind(section, {"low_freq_factor", "high_freq_factor", "original_seq"}, *word);
    if (section.sure("low_freq_factor", "high_freq_factor") && read.high_freq_factor <= read.low_freq_factor)
        section.report(section.has("high_freq_factor") ? "high_freq_factor" : "low_freq_factor",
                       {"scenario.rope_factors", {}});
    scaling = read;
}

/// Which of the words of an enum the key has, in the order of the enum.
template <class Enum>
std::optional<Enum> read_word(const Section& model, std::string_view key,
                              std::span<const std::string_view> words) {
    const std::optional<std::string> word = model.word(key, words);
    if (!word) return std::nullopt;
    return enumerator<Enum>(words, *word);
}

void read_activation(const Section& model, nn::ModelSpec& spec) {
    const auto activation = read_word<nn::Activation>(model, "activation", activations());
    if (!activation) return;
    const nn::Activation other = spec.kind == "llama" ? nn::Activation::relu : nn::Activation::silu;
    if (!spec.kind.empty() && *activation == other)
        return model.report("activation",
                            {"scenario.activation_of_kind",
                             {{"activation", std::string(activations()[static_cast<std::size_t>(other)])},
                              {"kind", spec.kind}}});
    spec.activation = activation;
}

void read_window(const Section& model, nn::ModelSpec& spec) {
    spec.window = model.integer("window", {0, nn::kMostSize}).value_or(spec.window);
    // A configuration's list is that of all of its layers, of which there may be fewer here.
    if (spec.layers > 0) std::erase_if(spec.full_attention, [&](int64_t i) { return i >= spec.layers; });
    if (!model.has("full_attention")) return;
    const int64_t last = spec.layers > 0 ? spec.layers - 1 : std::numeric_limits<int32_t>::max();
    spec.full_attention = model.integers("full_attention", {0, last}).value_or(spec.full_attention);
    if (spec.window == 0 && model.sure("window"))
        model.report_key("full_attention",
                         {"scenario.needs_window", {{"key", model.full("full_attention")}}});
}

/// LoRA's rank, and which linear layers it stands beside: last parts of their names.
void read_lora(const Section& model, nn::ModelSpec& spec) {
    spec.lora_rank = model.integer("lora_rank", {0, nn::kMostLoraRank}).value_or(0);
    spec.lora_alpha = model.number("lora_alpha", {0, 1e6, false}).value_or(spec.lora_alpha);
    const auto targets = model.texts("lora_targets");
    if (spec.lora_rank == 0 && model.sure("lora_rank")) {
        for (const std::string_view key : {"lora_alpha", "lora_targets"})
            if (model.has(key)) model.report_key(key, {"scenario.needs_lora", {{"key", model.full(key)}}});
        return;
    }
    if (!targets) return;
    if (targets->empty()) model.report("lora_targets", {"scenario.lora_no_targets", {}});
    std::vector<std::string> known;
    if (!spec.kind.empty()) known = nn::adaptable_layers(spec.kind);
    const std::vector<std::string_view> words(known.begin(), known.end());
    for (std::size_t i = 0; !known.empty() && i < targets->size(); ++i) {
        if (std::ranges::find(known, (*targets)[i]) != known.end()) continue;
        Refusal refusal{{{"scenario.lora_target", {{"name", (*targets)[i]}, {"kind", spec.kind}}},
                         model.position_of_element("lora_targets", i),
                         {"scenario.hint.known", {{"known", joined(words)}}}},
                        {},
                        {},
                        {}};
        guess_word(refusal, (*targets)[i], words, [&](const std::string& word) {
            return Candidate{{model.place("lora_targets") + "." + std::to_string(i), word}};
        });
        model.report_refused(std::move(refusal));
    }
    spec.lora_targets = *targets;
}

}  // namespace

void read_model_form(const Section& model, nn::ModelSpec& spec) {
    const auto flag = [&](std::string_view key, bool& into) { into = model.boolean(key).value_or(into); };
    flag("bias", spec.kind == "gpt" ? spec.block_bias : spec.bias);
    flag("qkv_bias", spec.qkv_bias);
    flag("out_bias", spec.out_bias);
    flag("mlp_bias", spec.mlp_bias);
    flag("zero_centered_norm", spec.zero_centered_norm);
    flag("scaled_embedding", spec.scaled_embedding);
    spec.qk_norm = read_word<nn::QkNorm>(model, "qk_norm", qk_norms()).value_or(spec.qk_norm);
    spec.norm_place = read_word<nn::NormPlace>(model, "norm_place", norm_places()).value_or(spec.norm_place);
    if (const auto pairs = model.word("rope_pairs", rope_pairs())) spec.rope_halves = *pairs == "halves";
    read_activation(model, spec);
    spec.norm_eps = model.number("norm_eps", {0, 1, false}).value_or(spec.norm_eps);
    spec.rope_theta = model.number("rope_theta", {0, 1e12, false}).value_or(spec.rope_theta);
    spec.window_rope_theta =
        model.number("window_rope_theta", {0, 1e12, false}).value_or(spec.window_rope_theta);
    spec.attention_scale = model.number("attention_scale", {0, 1e6, false}).value_or(spec.attention_scale);
    read_window(model, spec);
    read_lora(model, spec);
    read_rope_scaling(model, spec.rope_scaling);
}

}  // namespace meshscope::scenario
