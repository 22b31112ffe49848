#include <optional>
#include <string>

#include "core/jobs/programs.h"
#include "core/jobs/table.h"

namespace meshscope::jobs {
namespace {

/// What FSDP1 cuts, of either of its two keys, by word or by number.
std::optional<std::string> sharding_of(const Table& fsdp, const char* key) {
    return fsdp.word(key, {{"FULL_SHARD", "full_shard"},
                           {"SHARD_GRAD_OP", "shard_grad_op"},
                           {"NO_SHARD", "no_shard"},
                           {"HYBRID_SHARD", "hybrid_shard"},
                           {"HYBRID_SHARD_ZERO2", "hybrid_shard_zero2"},
                           {"1", "full_shard"},
                           {"2", "shard_grad_op"},
                           {"3", "no_shard"},
                           {"4", "hybrid_shard"},
                           {"5", "hybrid_shard_zero2"}});
}

/// What is wrapped into units.
std::optional<std::string> wrap_of(const Table& fsdp) {
    return fsdp.word(
        "fsdp_auto_wrap_policy",
        {{"TRANSFORMER_BASED_WRAP", "layers"}, {"SIZE_BASED_WRAP", "size"}, {"NO_WRAP", "none"}});
}

void accelerate_fsdp1(const Table& fsdp, Job& job) {
    if (fsdp.has("fsdp_version"))
        fsdp.put("fsdp_version", "strategy", std::string("fsdp1"));
    else
        fall_back(job, "strategy", std::string("fsdp1"), "fsdp_config.fsdp_version");
    if (const auto sharding = sharding_of(fsdp, "fsdp_sharding_strategy"))
        fsdp.put("fsdp_sharding_strategy", "sharding_strategy", *sharding);
    fall_back(job, "sharding_strategy", std::string("full_shard"), "fsdp_sharding_strategy");
    // The launcher always hands over fsdp_sharding_strategy, FULL_SHARD where it is not given, and the other
    // key is looked at only without one (utils/launch.py, FullyShardedDataParallelPlugin).
    const char* const other = "fsdp_reshard_after_forward";
    if (const auto passed = sharding_of(fsdp, other); passed && passed != job.facts.text("sharding_strategy"))
        fsdp.unsaid(other, {"jobs.why.launcher_sharding", {}});
    fsdp.take_word("fsdp_backward_prefetch", "backward_prefetch",
                   {{"BACKWARD_PRE", "pre"},
                    {"BACKWARD_POST", "post"},
                    {"NO_PREFETCH", "none"},
                    {"1", "pre"},
                    {"2", "post"}});
    fsdp.take_flag("fsdp_forward_prefetch", "forward_prefetch");
    fsdp.take_flag("fsdp_use_orig_params", "use_orig_params");
    if (fsdp.is_set("fsdp_offload_params")) fsdp.unsaid("fsdp_offload_params", {"jobs.why.offload", {}});
    const auto wrap = wrap_of(fsdp);
    if (wrap == "size") {
        fsdp.put("fsdp_auto_wrap_policy", "wrap", std::string("size"));
        fsdp.take_whole("fsdp_min_num_params", "wrap_min_elements");
        fall_back(job, "wrap_min_elements", int64_t{100'000'000}, "fsdp_min_num_params");
    }
    if (wrap == "none") fsdp.unsaid("fsdp_auto_wrap_policy", {"jobs.why.units", {}});
}

void accelerate_fsdp2(const Table& fsdp) {
    fsdp.put("fsdp_version", "strategy", std::string("fsdp2"));
    if (const auto frees = fsdp.flag("fsdp_reshard_after_forward"))
        fsdp.put("fsdp_reshard_after_forward", "reshard_after_forward",
                 std::string(*frees ? "true" : "false"));
    if (fsdp.is_set("fsdp_offload_params")) fsdp.put("fsdp_offload_params", "cpu_offload", true);
    if (wrap_of(fsdp).value_or("layers") != "layers")
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
    fsdp.pass_over({"fsdp_state_dict_type", "fsdp_cpu_ram_efficient_loading", "fsdp_sync_module_states",
                    "fsdp_transformer_layer_cls_to_wrap", "fsdp_min_num_params"});
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
    degrees.take_word("parallelism_config_cp_comm_strategy", "cp_kind",
                      {{"allgather", "allgather"}, {"alltoall", "alltoall"}});
    if (job.facts.whole("sp").value_or(1) > 1) {  // Ulysses through DeepSpeed
        const int64_t sp = *job.facts.whole("sp");
        job.facts.replace("cp", sp, degrees.origin("parallelism_config_sp_size"));
        degrees.put("parallelism_config_sp_size", "cp_kind", std::string("ulysses"));
    }
    fall_back(job, "cp_kind", std::string("allgather"), "parallelism_config_cp_comm_strategy");
}

void accelerate_precision(const Table& root, const std::optional<std::string>& type, Job& job) {
    const auto word = root.word("mixed_precision", {{"no", "float32"},
                                                    {"fp16", "float16"},
                                                    {"bf16", "bfloat16"},
                                                    {"fp8", ""},
                                                    {"false", "float32"}});  // a bare no is false to YAML
    if (word && word->empty())
        root.unsaid("mixed_precision", {"jobs.why.eight_bits", {}});
    else if (word)
        root.put("mixed_precision", "precision", *word);
    else
        fall_back(job, "precision", std::string("float32"), "mixed_precision");
    // FSDP's plugin reduces in what it computes in; autocast's gradients are float32, as Megatron's are.
    const std::string strategy = job.facts.text("strategy").value_or("none");
    if (word == "bfloat16" && strategy.starts_with("fsdp")) root.put("mixed_precision", "reduce", *word);
    if (!strategy.starts_with("fsdp") && type != "deepspeed")
        fall_back(job, "reduce", std::string("float32"), "mixed_precision");
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
    job.autocasts = true;
    const Table root(document, job);
    const std::optional<std::string> type = root.word("distributed_type", {{"NO", "none"},
                                                                           {"false", "none"},
                                                                           {"MULTI_GPU", "ddp"},
                                                                           {"MULTI_CPU", "ddp"},
                                                                           {"MULTI_NPU", "ddp"},
                                                                           {"MULTI_MLU", "ddp"},
                                                                           {"MULTI_SDAA", "ddp"},
                                                                           {"MULTI_MUSA", "ddp"},
                                                                           {"MULTI_XPU", "ddp"},
                                                                           {"MULTI_HPU", "ddp"},
                                                                           {"MULTI_NEURON", "ddp"},
                                                                           {"FSDP", "fsdp"},
                                                                           {"DEEPSPEED", "deepspeed"},
                                                                           {"MEGATRON_LM", "megatron"}});
    const bool alone = type == "none";
    root.take_whole("num_processes", "world");
    root.take_whole("num_machines", "nodes");
    if (alone) fall_back(job, "world", int64_t{1}, "num_processes");
    root.take_whole("gradient_accumulation_steps", "accumulate");
    if (type == "fsdp") {
        accelerate_fsdp(root, job);
    } else if (type == "deepspeed") {
        read_deepspeed_block(root, job, deepspeed_file);
    } else if (type == "megatron") {
        read_megatron_block(root, job);
    } else if (type) {
        root.put("distributed_type", "strategy", *type);
    } else {
        const bool several = job.facts.whole("world").value_or(1) > 1;
        fall_back(job, "strategy", std::string(several ? "ddp" : "none"), "distributed_type");
    }
    accelerate_precision(root, type, job);
    if (root.has("parallelism_config")) accelerate_parallelism(root, job);
    for (const char* fact : {"tp", "pp", "cp"}) fall_back(job, fact, int64_t{1}, "parallelism_config");
    fall_back(job, "accumulate", int64_t{1}, "gradient_accumulation_steps");
    root.unsaid_if_set("dynamo_config", {"jobs.why.compiled", {}});
    root.unsaid_if_set("fp8_config", {"jobs.why.eight_bits", {}});
    root.note_unread();
}

}  // namespace meshscope::jobs
