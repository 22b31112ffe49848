#include <string>
#include <utility>

#include "core/jobs/programs.h"
#include "core/jobs/table.h"

namespace meshscope::jobs {
namespace {

/// fp16 and bf16: at most one of them is enabled. Source: deepspeed/runtime/config.py.
void deepspeed_precision(const Table& root, Job& job) {
    const Table half = root.table("fp16");
    const Table brain = root.table(root.has("bfloat16") ? "bfloat16" : "bf16");
    const bool is_half = half.is_set("enabled"), is_brain = brain.is_set("enabled");
    half.pass_over(
        {"loss_scale", "loss_scale_window", "initial_scale_power", "hysteresis", "min_loss_scale"});
    if (is_half && is_brain)
        half.report({"jobs.two_precisions", {}}, {"jobs.hint.one_precision", {}});
    else if (is_half)
        half.put("enabled", "precision", std::string("float16"));
    else if (is_brain)
        brain.put("enabled", "precision", std::string("bfloat16"));
    else if (half.text("enabled") != "auto" && brain.text("enabled") != "auto")
        fall_back(job, "precision", std::string("float32"), "bf16.enabled");
    if (root.has("fp8")) root.unsaid("fp8", {"jobs.why.eight_bits", {}});
    // Gradients are sent in what is computed in (communication_data_type() of deepspeed/runtime/engine.py).
    root.take_word("communication_data_type", "reduce",
                   {{"fp32", "float32"}, {"fp16", "float16"}, {"bf16", "bfloat16"}});
    if (is_brain) fall_back(job, "reduce", std::string("bfloat16"), "communication_data_type");
    root.table("data_types").unsaid_if_set("grad_accum_dtype");
    root.unsaid_if_set("torch_autocast");
}

void deepspeed_zero(const Table& root, Job& job) {
    const Table zero = root.table("zero_optimization");
    constexpr const char* kWords[] = {"ddp", "zero1", "zero2", "zero3"};
    const std::optional<int64_t> stage = zero.whole("stage", 0, 3);
    if (stage)
        zero.put("stage", "strategy", std::string(kWords[*stage]));
    else
        fall_back(job, "strategy", std::string("ddp"), "zero_optimization.stage");
    zero.take_whole("reduce_bucket_size", "bucket_elements");
    if (stage.value_or(0) > 0 && !zero.has("reduce_bucket_size"))  // "auto" is none
        fall_back(job, "bucket_elements", int64_t{500'000'000}, "zero_optimization.reduce_bucket_size");
    for (const char* part : {"offload_optimizer", "offload_param"}) {
        const Table offload = zero.table(part);
        if (offload.text("device").value_or("none") != "none")
            offload.unsaid("device", {"jobs.why.offload", {}});
        offload.pass_over({"pin_memory"});
    }
    for (const char* key : {"cpu_offload", "cpu_offload_params"})
        zero.unsaid_if_set(key, {"jobs.why.offload", {}});
    if (const auto parts = zero.whole("zero_hpz_partition_size"); parts && *parts > 1)
        zero.unsaid("zero_hpz_partition_size", {"jobs.why.hpz", {{"n", *parts}}});
    for (const char* key : {"zero_quantized_weights", "zero_quantized_gradients", "mics_shard_size",
                            "mics_hierarchical_params_gather", "round_robin_gradients"})
        if (zero.shown(key) != "-1") zero.unsaid_if_set(key);
    // How gathers are cut up and how long parameters stay: this engine gathers a layer at a time.
    for (const char* key : {"stage3_prefetch_bucket_size", "stage3_param_persistence_threshold",
                            "stage3_max_live_parameters", "stage3_max_reuse_distance", "sub_group_size"})
        if (zero.has(key)) zero.unsaid(key, {"jobs.why.gathers", {}});
    if (zero.has("allgather_bucket_size"))
        zero.unsaid("allgather_bucket_size", {"jobs.why.gather_buckets", {}});
}

/// Of the optimizer what memory and time depend on. An Adam here is AdamW unless adam_w_mode is off.
void deepspeed_optimizer(const Table& root) {
    const Table optimizer = root.table("optimizer");
    const Table params = optimizer.table("params");
    const std::string type = optimizer.text("type").value_or("");
    if (type == "Adam" || type == "AdamW" || type == "OneBitAdam" || type == "FusedAdam") {
        const bool decoupled = type == "AdamW" || params.flag("adam_w_mode").value_or(true);
        optimizer.put("type", "optimizer", std::string(decoupled ? "adamw" : "adam"));
        if (type == "OneBitAdam") optimizer.unsaid("type", {"jobs.why.adamw", {}});
    } else if (type == "SGD") {
        optimizer.put("type", "optimizer", std::string("sgd"));
    } else if (!type.empty()) {
        optimizer.unsaid("type", {"jobs.why.adamw", {}});
    }
    params.take_number("lr", "lr");
    params.take_number("eps", "eps");
    params.take_number("weight_decay", "weight_decay");
    if (params.has("betas")) params.unsaid("betas", {"jobs.why.same_cost", {}});
    params.pass_over({"torch_adam"});
}

}  // namespace

void read_deepspeed(const Document& document, Job& job) {
    const std::string outer = std::exchange(job.program, "DeepSpeed");
    const Table root(document, job);
    // train_batch_size = train_micro_batch_size_per_gpu × gradient_accumulation_steps × data-parallel ranks;
    // the last two are filled in where they are left out (deepspeed/runtime/config.py,
    // _set_batch_related_parameters), and by the trainer where they are "auto".
    root.take_whole("train_batch_size", "global_batch");
    root.take_whole("train_micro_batch_size_per_gpu", "micro_batch");
    root.take_whole("gradient_accumulation_steps", "accumulate");
    if (!root.has("gradient_accumulation_steps")) {
        job.counts_default_accumulation = !job.facts.has("accumulate");
        fall_back(job, "accumulate", int64_t{1}, "gradient_accumulation_steps");
    }
    deepspeed_zero(root, job);
    deepspeed_precision(root, job);
    deepspeed_optimizer(root);
    if (const auto clip = root.number("gradient_clipping"); clip && *clip > 0)
        root.put("gradient_clipping", "clip_norm", *clip);
    const Table tensor = root.table("tensor_parallel");
    tensor.take_whole("autotp_size", "tp");
    fall_back(job, "tp", int64_t{1}, "tensor_parallel.autotp_size");
    root.take_whole("sequence_parallel_size", "cp");
    if (root.whole("sequence_parallel_size").value_or(1) > 1)
        root.put("sequence_parallel_size", "cp_kind", std::string("ulysses"));
    fall_back(job, "cp", int64_t{1}, "sequence_parallel_size");
    fall_back(job, "pp", int64_t{1}, "PipelineModule");
    for (const char* key : {"pipeline", "compression_training", "progressive_layer_drop",
                            "curriculum_learning", "data_efficiency", "elasticity", "sparse_attention"})
        root.unsaid_if_set(key);
    const Table checkpointing = root.table("activation_checkpointing");
    for (const char* key : {"partition_activations", "cpu_checkpointing"})
        checkpointing.unsaid_if_set(key, {"jobs.why.recompute_script", {}});
    root.note_unread();
    if (!outer.empty()) job.program = outer;
}

}  // namespace meshscope::jobs
