#include <string>

#include "core/base/text.h"
#include "core/jobs/programs.h"
#include "core/jobs/table.h"

namespace meshscope::jobs {
namespace {

bool is(const std::optional<std::string>& text, std::string_view word) {
    return text && equal_ignoring_case(*text, word);
}

/// A value that an older file has as a number and a newer one as a word.
std::string word_of(const Table& table, std::string_view key) {
    return table.has(key) ? table.shown(key) : "";
}

/// FULL_SHARD … HYBRID_SHARD_ZERO2, or their numbers, as this project's words.
const char* sharding_word(const std::string& word) {
    constexpr std::pair<const char*, const char*> kWords[] = {{"FULL_SHARD", "full_shard"},
                                                              {"SHARD_GRAD_OP", "shard_grad_op"},
                                                              {"NO_SHARD", "no_shard"},
                                                              {"HYBRID_SHARD", "hybrid_shard"},
                                                              {"HYBRID_SHARD_ZERO2", "hybrid_shard_zero2"}};
    int number = 0;
    for (const auto& [theirs, ours] : kWords) {
        ++number;
        if (equal_ignoring_case(word, theirs) || word == std::to_string(number)) return ours;
    }
    return nullptr;
}

void accelerate_fsdp1(const Table& fsdp, Job& job) {
    if (fsdp.has("fsdp_version"))
        fsdp.put("fsdp_version", "strategy", std::string("fsdp1"));
    else
        fall_back(job, "strategy", std::string("fsdp1"), "fsdp_config.fsdp_version");
    const std::string sharding = word_of(fsdp, "fsdp_sharding_strategy");
    if (sharding.empty())
        fall_back(job, "sharding_strategy", std::string("full_shard"), "fsdp_sharding_strategy");
    else if (const char* const word = sharding_word(sharding))
        fsdp.put("fsdp_sharding_strategy", "sharding_strategy", std::string(word));
    else
        fsdp.report(
            {"jobs.unknown_word", {{"key", std::string("fsdp_sharding_strategy")}, {"word", sharding}}},
            {"jobs.hint.sharding", {}});
    const std::string prefetch = word_of(fsdp, "fsdp_backward_prefetch");
    if (equal_ignoring_case(prefetch, "BACKWARD_PRE"))
        fsdp.put("fsdp_backward_prefetch", "backward_prefetch", std::string("pre"));
    if (equal_ignoring_case(prefetch, "BACKWARD_POST"))
        fsdp.put("fsdp_backward_prefetch", "backward_prefetch", std::string("post"));
    if (equal_ignoring_case(prefetch, "NO_PREFETCH"))
        fsdp.put("fsdp_backward_prefetch", "backward_prefetch", std::string("none"));
    fsdp.take_flag("fsdp_forward_prefetch", "forward_prefetch");
    fsdp.take_flag("fsdp_use_orig_params", "use_orig_params");
    if (fsdp.is_set("fsdp_offload_params")) fsdp.unsaid("fsdp_offload_params", {"jobs.why.offload", {}});
    const std::string wrap = word_of(fsdp, "fsdp_auto_wrap_policy");
    if (equal_ignoring_case(wrap, "SIZE_BASED_WRAP")) {
        fsdp.put("fsdp_auto_wrap_policy", "wrap", std::string("size"));
        fsdp.take_whole("fsdp_min_num_params", "wrap_min_elements");
        fall_back(job, "wrap_min_elements", int64_t{100'000'000}, "fsdp_min_num_params");
    }
    if (equal_ignoring_case(wrap, "NO_WRAP")) fsdp.unsaid("fsdp_auto_wrap_policy", {"jobs.why.units", {}});
}

void accelerate_fsdp2(const Table& fsdp) {
    fsdp.put("fsdp_version", "strategy", std::string("fsdp2"));
    if (const auto frees = fsdp.flag("fsdp_reshard_after_forward"))
        fsdp.put("fsdp_reshard_after_forward", "reshard_after_forward",
                 std::string(*frees ? "true" : "false"));
    if (fsdp.is_set("fsdp_offload_params")) fsdp.put("fsdp_offload_params", "cpu_offload", true);
    const std::string wrap = word_of(fsdp, "fsdp_auto_wrap_policy");
    if (!wrap.empty() && !equal_ignoring_case(wrap, "TRANSFORMER_BASED_WRAP"))
        fsdp.unsaid("fsdp_auto_wrap_policy", {"jobs.why.units", {}});
}

void accelerate_fsdp(const Table& root, Job& job) {
    const Table fsdp = root.table("fsdp_config");
    const int64_t version = fsdp.whole("fsdp_version", 1, 2).value_or(1);
    if (version == 2)
        accelerate_fsdp2(fsdp);
    else
        accelerate_fsdp1(fsdp, job);
    if (fsdp.is_set("fsdp_activation_checkpointing"))
        fsdp.put("fsdp_activation_checkpointing", "recompute", std::string("full"));
    for (const char* key :
         {"fsdp_state_dict_type", "fsdp_cpu_ram_efficient_loading", "fsdp_sync_module_states",
          "fsdp_transformer_layer_cls_to_wrap", "fsdp_min_num_params"})
        static_cast<void>(fsdp.has(key));
    fsdp.unsaid_if_set("fsdp_ignored_modules");
}

/// Degrees: parallelism_config. Its mesh is replicate, shard, cp, sp, tp
/// (ParallelismConfig._get_mesh of accelerate/parallelism_config.py).
void accelerate_parallelism(const Table& root, Job& job) {
    const Table degrees = root.table("parallelism_config");
    const auto degree = [&](const char* word, const char* fact) {
        const std::string key = std::string("parallelism_config_") + word + "_size";
        degrees.take_whole(key, fact);
        fall_back(job, fact, int64_t{1}, key.c_str());
    };
    degree("dp_replicate", "dp_replicate");
    degree("dp_shard", "dp_shard");
    degree("tp", "tp");
    degree("cp", "cp");
    degree("sp", "sp");
    if (const auto strategy = degrees.text("parallelism_config_cp_comm_strategy"))
        degrees.put("parallelism_config_cp_comm_strategy", "cp_kind",
                    std::string(*strategy == "alltoall" ? "alltoall" : "allgather"));
    if (job.facts.whole("sp").value_or(1) > 1) {  // Ulysses through DeepSpeed
        const int64_t sp = *job.facts.whole("sp");
        job.facts.replace("cp", sp, degrees.origin("parallelism_config_sp_size"));
        degrees.put("parallelism_config_sp_size", "cp_kind", std::string("ulysses"));
    }
    fall_back(job, "cp_kind", std::string("allgather"), "parallelism_config_cp_comm_strategy");
}

void accelerate_precision(const Table& root, Job& job) {
    const std::string word = word_of(root, "mixed_precision");
    // A bare no is false to YAML.
    const bool off = word.empty() || word == "no" || word == "false";
    if (word == "bf16") root.put("mixed_precision", "precision", std::string("bfloat16"));
    if (word == "fp16") root.put("mixed_precision", "precision", std::string("float16"));
    if (word == "fp8") root.unsaid("mixed_precision", {"jobs.why.eight_bits", {}});
    if (off && !word.empty()) root.put("mixed_precision", "precision", std::string("float32"));
    if (off && word.empty()) fall_back(job, "precision", std::string("float32"), "mixed_precision");
    if (!off && word != "bf16" && word != "fp16" && word != "fp8")
        root.report({"jobs.unknown_word", {{"key", std::string("mixed_precision")}, {"word", word}}},
                    {"jobs.hint.precision", {}});
    // Both of its plugins reduce in what they compute in.
    if (word == "bf16") root.put("mixed_precision", "reduce", std::string("bfloat16"));
}

/// DeepSpeed's settings in accelerate's own file.
void read_deepspeed_block(const Table& root, Job& job, std::string& deepspeed_file) {
    const Table block = root.table("deepspeed_config");
    deepspeed_file = block.text("deepspeed_config_file").value_or("");
    constexpr const char* kWords[] = {"ddp", "zero1", "zero2", "zero3"};
    if (const auto stage = block.whole("zero_stage", 0, 3))
        block.put("zero_stage", "strategy", std::string(kWords[*stage]));
    else if (deepspeed_file.empty())
        fall_back(job, "strategy", std::string("zero2"), "deepspeed_config.zero_stage");
    block.take_whole("gradient_accumulation_steps", "accumulate");
    if (const auto clip = block.number("gradient_clipping"); clip && *clip > 0)
        block.put("gradient_clipping", "clip_norm", *clip);
    for (const char* key : {"offload_optimizer_device", "offload_param_device"})
        block.unsaid_if_set(key, {"jobs.why.offload", {}});
}

void read_megatron_block(const Table& root, Job& job) {
    const Table block = root.table("megatron_lm_config");
    block.take_whole("megatron_lm_tp_degree", "tp");
    block.take_whole("megatron_lm_pp_degree", "pp");
    block.take_whole("megatron_lm_num_micro_batches", "accumulate");
    if (block.is_set("megatron_lm_sequence_parallelism") && job.facts.whole("tp").value_or(1) > 1)
        block.put("megatron_lm_sequence_parallelism", "sequence_parallel", true);
    if (block.is_set("megatron_lm_recompute_activations"))
        block.unsaid("megatron_lm_recompute_activations", {"jobs.why.recompute_attention", {}});
    const bool sharded = block.is_set("megatron_lm_use_distributed_optimizer");
    block.put("megatron_lm_use_distributed_optimizer", "strategy", std::string(sharded ? "zero1" : "ddp"));
    if (const auto clip = block.number("megatron_lm_gradient_clipping"); clip && *clip > 0)
        block.put("megatron_lm_gradient_clipping", "clip_norm", *clip);
    for (const char* fact : {"tp", "pp", "cp", "ep"}) fall_back(job, fact, int64_t{1}, "megatron_lm_config");
    fall_back(job, "order", std::string("tp-cp-ep-dp-pp"), "megatron_lm_config");
}

}  // namespace

void read_accelerate(const Document& document, Job& job, std::string& deepspeed_file) {
    job.program = "accelerate";
    const Table root(document, job);
    const std::optional<std::string> type =
        root.has("distributed_type") ? std::optional(word_of(root, "distributed_type")) : std::nullopt;
    const bool alone = is(type, "NO") || is(type, "false");
    root.take_whole("num_processes", "world");
    root.take_whole("num_machines", "nodes");
    if (alone) fall_back(job, "world", int64_t{1}, "num_processes");
    root.take_whole("gradient_accumulation_steps", "accumulate");
    if (is(type, "FSDP")) {
        accelerate_fsdp(root, job);
    } else if (is(type, "DEEPSPEED")) {
        read_deepspeed_block(root, job, deepspeed_file);
    } else if (is(type, "MEGATRON_LM")) {
        read_megatron_block(root, job);
    } else if (alone) {
        root.put("distributed_type", "strategy", std::string("none"));
    } else if (type && (type->starts_with("MULTI_") || type->starts_with("multi_"))) {
        root.put("distributed_type", "strategy", std::string("ddp"));
    } else if (!type) {
        const bool several = job.facts.whole("world").value_or(1) > 1;
        fall_back(job, "strategy", std::string(several ? "ddp" : "none"), "distributed_type");
    } else {
        root.report({"jobs.unknown_word", {{"key", std::string("distributed_type")}, {"word", *type}}},
                    {"jobs.hint.distributed", {}});
    }
    accelerate_precision(root, job);
    if (root.has("parallelism_config")) accelerate_parallelism(root, job);
    for (const char* fact : {"tp", "pp", "cp"}) fall_back(job, fact, int64_t{1}, "parallelism_config");
    fall_back(job, "accumulate", int64_t{1}, "gradient_accumulation_steps");
    for (const char* key : {"fsdp_config", "deepspeed_config", "megatron_lm_config"}) root.seen(key);
    root.unsaid_if_set("dynamo_config", {"jobs.why.compiled", {}});
    root.unsaid_if_set("fp8_config", {"jobs.why.eight_bits", {}});
    root.note_unread();
}

}  // namespace meshscope::jobs
