#include "core/jobs/megatron_model.h"

#include <string>

#include "core/jobs/programs.h"

namespace meshscope::jobs {
namespace {

/// How positions are told apart, as a fact of those that a configuration can be held against.
std::string read_positions(const Table& args) {
    const char* const by_word = "--position-embedding-type";
    const char* const flag = "--use-rotary-position-embeddings";
    const std::string word = args.word(by_word, {{"learned_absolute", "learned_absolute"},
                                                 {"rope", "rope"},
                                                 {"yarn", "yarn"},
                                                 {"mrope", "mrope"},
                                                 {"relative", "relative"},
                                                 {"none", "none"}})
                                 .value_or("learned_absolute");
    const bool turned = args.is_set(flag);
    const bool rotary = turned || word == "rope" || word == "yarn" || word == "mrope";
    if (turned || args.has(by_word))
        args.put(turned ? flag : by_word, "model.positions", rotary ? std::string("rope") : word);
    return turned ? "rope" : word;
}

/// Which of the two transformers is nearest: gated mlps are llama's, all others gpt's.
void megatron_model_kind(const Table& args, Job& job) {
    const bool gated = args.is_set("--swiglu") || args.is_set("--quick-geglu");
    const bool rms = args.take_word("--normalization", "model.norm",
                                    {{"LayerNorm", "LayerNorm"}, {"RMSNorm", "RMSNorm"}}) == "RMSNorm";
    const std::string positions = read_positions(args);
    const Origin kind = gated ? args.origin(args.has("--swiglu") ? "--swiglu" : "--quick-geglu")
                              : Origin{Origin::Kind::fallback, job.program, "no --swiglu"};
    job.facts.put("model.kind", std::string(gated ? "llama" : "gpt"), kind, job.found);
    if (args.is_set("--swiglu")) args.put("--swiglu", "model.gate", std::string("silu"));
    if (args.is_set("--squared-relu")) args.put("--squared-relu", "model.activation", std::string("relu"));
    if (!job.model_config.empty()) return;  // which says all this, and is held against it
    const auto differs = [&](const char* key, const char* fallback, const char* why) {
        if (args.has(key))
            args.unsaid(key, {why, {}});
        else
            job.unsaid.push_back({job.program, key, fallback, true, {why, {}}});
    };
    if (gated && !rms) differs("--normalization", "LayerNorm", "jobs.why.rms_norm");
    if (!gated && rms) args.unsaid("--normalization", {"jobs.why.layer_norm", {}});
    const char* const positions_key = args.has("--position-embedding-type")
                                          ? "--position-embedding-type"
                                          : "--use-rotary-position-embeddings";
    if (gated && positions != "rope")
        differs("--position-embedding-type", "learned_absolute", "jobs.why.rotary");
    if (!gated && positions != "learned_absolute")
        args.unsaid(positions_key, {"jobs.why.learned_positions", {}});
    if (args.is_set("--squared-relu")) args.unsaid("--squared-relu", {"jobs.why.relu", {}});
    if (args.is_set("--quick-geglu")) args.unsaid("--quick-geglu", {"jobs.why.gelu_gate", {}});
    if (args.number("--rotary-percent").value_or(1.0) != 1.0)
        args.unsaid("--rotary-percent", {"jobs.why.rotary", {}});
    for (const char* key : {"--use-rope-scaling", "--rotary-scaling-factor", "--apply-layernorm-1p"})
        args.unsaid_if_set(key, {"jobs.why.same_cost", {}});
}

void megatron_model_sizes(const Table& args, Job& job) {
    for (const char* key : {"--num-layers", "--encoder-num-layers"}) args.take_whole(key, "model.layers");
    const auto dim = args.take_whole("--hidden-size", "model.dim");
    const auto heads = args.take_whole("--num-attention-heads", "model.heads");
    args.take_whole("--ffn-hidden-size", "model.hidden");
    if (dim)
        fall_back(job, "model.hidden", args.is_set("--swiglu") ? *dim * 8 / 3 / 64 * 64 : 4 * *dim,
                  "--ffn-hidden-size");
    if (const auto width = args.whole("--kv-channels"); width && dim && heads && *width * *heads != *dim)
        args.put("--kv-channels", "model.head_dim", *width);
    const bool grouped = args.is_set("--group-query-attention");
    if (!grouped) return;
    args.take_whole("--num-query-groups", "model.kv_heads");
    fall_back(job, "model.kv_heads", int64_t{1}, "--num-query-groups");
    if (job.facts.text("model.kind") == "gpt" && job.model_config.empty())
        args.unsaid("--num-query-groups", {"jobs.why.all_heads", {}});
}

/// The table of tokens is padded, so that it can be cut evenly. Source: vocab_size_with_padding() of
/// megatron/core/tokenizers/utils/build_tokenizer.py.
void megatron_model_vocabulary(const Table& args, Job& job) {
    args.take_whole("--padded-vocab-size", "model.vocab");
    args.take_whole("--make-vocab-size-divisible-by", "vocab_multiple");
    fall_back(job, "vocab_multiple", int64_t{128}, "--make-vocab-size-divisible-by");
    args.take_whole("--vocab-size", "vocab");
    if (args.is_set("--untie-embeddings-and-output-weights"))
        args.put("--untie-embeddings-and-output-weights", "model.tied", false);
    else
        fall_back(job, "model.tied", true, "no --untie-embeddings-and-output-weights");
}

void megatron_model_details(const Table& args, Job& job) {
    const bool bias = !args.is_set("--disable-bias-linear");
    const Origin from = bias ? Origin{Origin::Kind::fallback, job.program, "no --disable-bias-linear"}
                             : args.origin("--disable-bias-linear");
    job.facts.put("model.bias", bias, from, job.found);
    args.take_flag("--add-qkv-bias", "model.qkv_bias");
    args.take_number("--norm-epsilon", "model.norm_eps");
    args.take_number("--rotary-base", "model.rope_theta");
    if (args.is_set("--qk-layernorm")) args.put("--qk-layernorm", "model.qk_norm", std::string("head"));
    args.unsaid_if_set("--window-size");
    for (const char* key : {"--attention-dropout", "--hidden-dropout"}) {
        const std::optional<double> share = args.number(key);
        if (share && *share > 0) args.unsaid(key, {"jobs.why.dropout", {}});
        if (!share) job.unsaid.push_back({job.program, key, "0.1", true, {"jobs.why.dropout", {}}});
    }
}

/// Models of other kinds: with experts, or no decoder of equal layers at all.
void megatron_model_architecture(const Table& args, Job& job) {
    if (args.whole("--num-experts").value_or(0) > 1) {
        args.take_whole("--num-experts", "model.experts");
        args.take_whole("--moe-router-topk", "model.experts_per_token");
        fall_back(job, "model.experts_per_token", int64_t{2}, "--moe-router-topk");
        args.take_whole("--moe-ffn-hidden-size", "model.expert_hidden");
        args.unsaid("--num-experts", {"jobs.why.experts", {}});
        for (const char* key : {"--moe-layer-freq", "--moe-shared-expert-intermediate-size"})
            args.unsaid_if_set(key, {"jobs.why.experts", {}});
    }
    if (args.is_set("--multi-latent-attention")) {
        args.put("--multi-latent-attention", "model.latent_attention", true);
        args.unsaid("--multi-latent-attention", {"jobs.why.latent", {}});
    }
    for (const char* key : {"--mtp-num-layers", "--softmax-type", "--attention-output-gate"})
        args.unsaid_if_set(key);
    for (const char* key :
         {"--hybrid-override-pattern", "--hybrid-layer-pattern", "--is-hybrid-model",
          "--experimental-attention-variant", "--linear-attention-freq", "--decoder-num-layers",
          "--decoder-seq-length", "--img-h", "--bert-no-binary-head"})
        if (args.has(key)) {
            args.put(key, "model.other", true);
            args.unsaid(key, {"jobs.why.architecture", {}});
        }
    const std::string spec = args.shown("--spec");
    if (spec.find("mamba") != std::string::npos || spec.find("hybrid") != std::string::npos) {
        args.put("--spec", "model.other", true);
        args.unsaid("--spec", {"jobs.why.architecture", {}});
    }
}

}  // namespace

void read_megatron_model(const Table& args, Job& job) {
    megatron_model_kind(args, job);
    megatron_model_sizes(args, job);
    megatron_model_vocabulary(args, job);
    megatron_model_details(args, job);
    megatron_model_architecture(args, job);
}

}  // namespace meshscope::jobs
