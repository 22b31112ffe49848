#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

#include "core/jobs/programs.h"
#include "core/jobs/table.h"
#include "core/jobs/torchtitan_model.h"
#include "core/scenario/readers.h"

namespace meshscope::jobs {
namespace {

using nlohmann::json;

/// Whether it is what debug.save_config_file wrote, which versions since 2026 do.
bool is_saved(const Table& root) {
    return root.has("model_spec");
}

/// Degrees, where the versions have had them: [parallelism], before that [training] and [experimental].
/// The mesh is pp, dp_replicate, dp_shard, cp, tp (torchtitan/distributed/parallel_dims.py).
void torchtitan_degrees(const Table& root, Job& job) {
    const Table now = root.table("parallelism"), training = root.table("training"),
                experimental = root.table("experimental");
    const auto degree = [&](const char* key, const char* fact, int64_t least, int64_t fallback) {
        for (const Table* table : {&now, &training, &experimental})
            if (const auto n = table->whole(key, least, scenario::kMostRanks)) {
                if (*n == 0)
                    table->report({"jobs.degree", {{"key", table->origin(key).key}}},
                                  {"jobs.hint.degree", {}});
                if (*n > 0 || *n == -1) table->put(key, fact, *n);
            }
        fall_back(job, fact, fallback, key);
    };
    degree("data_parallel_replicate_degree", "dp_replicate", 1, 1);
    degree("data_parallel_shard_degree", "dp_shard", -1, -1);
    degree("tensor_parallel_degree", "tp", 1, 1);
    degree("pipeline_parallel_degree", "pp", 1, 1);
    degree("context_parallel_degree", "cp", 1, 1);
    degree("expert_parallel_degree", "ep", 1, 1);
    if (const int64_t ep = job.facts.whole("ep").value_or(1); ep > 1)
        now.unsaid("expert_parallel_degree", {"jobs.why.expert_ranks", {{"n", ep}}});
    if (now.whole("expert_tensor_parallel_degree").value_or(1) > 1)
        now.unsaid("expert_tensor_parallel_degree", {"jobs.why.expert_tensor", {}});
    if (job.facts.whole("tp").value_or(1) > 1) {
        if (const auto cut = now.flag("enable_sequence_parallel"))
            now.put("enable_sequence_parallel", "sequence_parallel", *cut);
        fall_back(job, "sequence_parallel", true, "parallelism.enable_sequence_parallel");
        if (const auto whole = now.flag("disable_loss_parallel"))
            now.put("disable_loss_parallel", "loss_parallel", !*whole);
        fall_back(job, "loss_parallel", true, "parallelism.disable_loss_parallel");
    }
    for (const Table* table : {&now, &experimental})
        if (const auto kind = table->word("context_parallel_rotate_method",
                                          {{"allgather", "allgather"}, {"alltoall", "alltoall"}});
            kind && job.facts.whole("cp").value_or(1) > 1)
            table->put("context_parallel_rotate_method", "cp_kind", *kind);
    fall_back(job, "cp_kind", std::string("allgather"), "parallelism.context_parallel_rotate_method");
    for (const char* key : {"enable_async_tensor_parallel", "enable_fsdp_symm_mem"}) now.unsaid_if_set(key);
}

/// What is gathered in forward: "default" keeps the units of a pipeline's stages.
void torchtitan_fsdp(const Table& root, Job& job) {
    const Table now = root.table("parallelism");
    job.facts.put("strategy", std::string("fsdp2"), {Origin::Kind::fallback, job.program, "fully_shard"},
                  job.found);
    const std::string policy = now.word("fsdp_reshard_after_forward",
                                        {{"default", "default"}, {"always", "always"}, {"never", "never"}})
                                   .value_or("default");
    const bool pipeline = job.facts.whole("pp").value_or(1) > 1;
    const bool keeps = policy == "never" || (policy == "default" && pipeline);
    const std::string value = keeps ? "false" : policy == "always" ? "true" : "default";
    if (now.has("fsdp_reshard_after_forward"))
        now.put("fsdp_reshard_after_forward", "reshard_after_forward", value);
    else
        fall_back(job, "reshard_after_forward", value, "parallelism.fsdp_reshard_after_forward");
    // The embedding, each block, and the last norm with the head are units (apply_fsdp_to_decoder of
    // torchtitan/distributed/fsdp.py).
    fall_back(job, "decoder_units", true, "fully_shard");
    if (root.table("training").is_set("enable_cpu_offload"))
        root.table("training").put("enable_cpu_offload", "cpu_offload", true);
    // Replicas alone are no FSDP in its versions before 2026 (apply_ddp of their parallelize.py); since then
    // they are, with shards of one rank. Which ranks there are is known when the degrees are settled.
    if (!is_saved(root)) fall_back(job, "ddp_bucket_mb", int64_t{100}, "apply_ddp");
}

void torchtitan_pipeline(const Table& root, Job& job) {
    const Table now = root.table("parallelism"), experimental = root.table("experimental");
    for (const Table* table : {&now, &experimental})
        table->pass_over({"pipeline_parallel_schedule", "pipeline_parallel_microbatch_size",
                          "pipeline_parallel_layers_per_stage", "num_pp_microbatches",
                          "pipeline_parallel_microbatches", "pipeline_parallel_schedule_csv",
                          "module_fqns_per_model_part"});
    now.pass_over({"pipeline_parallel_first_stage_less_layers", "pipeline_parallel_last_stage_less_layers"});
    if (job.facts.whole("pp").value_or(1) == 1) return;
    for (const Table* table : {&now, &experimental}) {
        if (const auto schedule = table->text("pipeline_parallel_schedule"))
            table->put("pipeline_parallel_schedule", "schedule", *schedule);
        table->take_whole("num_pp_microbatches", "pp_microbatches");
        table->unsaid_if_set("pipeline_parallel_schedule_csv", {"jobs.why.schedule_file", {}});
        for (const char* key : {"module_fqns_per_model_part", "pipeline_parallel_split_points"})
            table->unsaid_if_set(key, {"jobs.why.uneven", {}});
    }
    fall_back(job, "schedule", std::string("1F1B"), "parallelism.pipeline_parallel_schedule");
    const int64_t less = now.whole("pipeline_parallel_first_stage_less_layers", 0).value_or(1) +
                         now.whole("pipeline_parallel_last_stage_less_layers", 0).value_or(1);
    const char* const light = "pipeline_parallel_first_stage_less_layers";
    if (less > 0 && now.has(light))
        now.unsaid(light, {"jobs.why.light_stages", {{"n", less}}});
    else if (less > 0 && root.has("parallelism"))
        job.unsaid.push_back(
            {job.program, now.origin(light).key, "", true, {"jobs.why.light_stages", {{"n", less}}}});
    // Stages a rank: from the layers of a stage, else one, or two of a schedule that loops.
    const int64_t layers = job.facts.whole("model.layers").value_or(0), pp = *job.facts.whole("pp");
    if (const auto each = now.whole("pipeline_parallel_layers_per_stage"); each && layers > 0) {
        const int64_t stages = (layers + less + *each - 1) / *each;
        if (stages % pp != 0)
            now.report({"jobs.layers",
                        {{"layers", layers + less},
                         {"pp", pp},
                         {"each", *each},
                         {"key", std::string("parallelism.pipeline_parallel_layers_per_stage")}}},
                       {"jobs.hint.layers", {{"parts", pp * *each}}});
        else
            now.put("pipeline_parallel_layers_per_stage", "stages_per_rank", stages / pp);
    }
    const std::string schedule = job.facts.text("schedule").value_or("1F1B");
    const bool single =
        schedule == "1F1B" || schedule == "GPipe" || schedule == "1f1b" || schedule == "gpipe";
    fall_back(job, "stages_per_rank", int64_t{single ? 1 : 2},
              "parallelism.pipeline_parallel_layers_per_stage");
}

/// What the pipeline of the versions before 2026 cuts a rank's batch into: micro-batches of a size, or in the
/// first of them a number of micro-batches, as many as there are stages where it is not given.
void cut_local_batch(const Table& root, Job& job) {
    const Fact batch = *job.facts.find("local_batch");
    const int64_t local = std::get<int64_t>(batch.value), pp = job.facts.whole("pp").value_or(1);
    if (pp == 1) return job.facts.put("micro_batch", local, batch.origin, job.found);
    const Table now = root.table("parallelism"), experimental = root.table("experimental");
    std::optional<int64_t> parts;
    std::string key, number;  // of what cuts
    for (const Table* table : {&now, &experimental})
        if (const auto n = table->whole("pipeline_parallel_microbatches")) {
            parts = n;
            key = table->origin("pipeline_parallel_microbatches").key;
        }
    if (!parts && experimental.has("pipeline_parallel_degree")) {
        parts = pp * job.facts.whole("stages_per_rank").value_or(1);
        key = "stages";
    }
    const int64_t size = now.whole("pipeline_parallel_microbatch_size").value_or(1);
    if (!parts && local % size != 0)
        return now.report({"jobs.microbatch_size", {{"batch", local}, {"each", size}}},
                          {"jobs.hint.divides", {}});
    if (parts && local % *parts != 0)
        return root.report({"jobs.microbatches", {{"batch", local}, {"n", *parts}, {"key", key}}},
                           {"jobs.hint.divides", {}});
    const int64_t each = parts ? local / *parts : size;
    const std::string sum =
        batch.origin.key + " " + std::to_string(local) + " / " +
        (parts ? key + " " + std::to_string(*parts)
               : now.origin("pipeline_parallel_microbatch_size").key + " " + std::to_string(size));
    const Origin origin{Origin::Kind::derived, batch.origin.source, sum};
    job.facts.put("micro_batch", each, origin, job.found);
    job.facts.put("pp_microbatches", local / each, origin, job.found);
}

/// The batch: in samples, or since 2026 in tokens.
void torchtitan_batch(const Table& root, Job& job) {
    const Table training = root.table("training");
    training.take_whole("steps", "steps");
    training.take_whole("seq_len", "seq");
    training.take_whole("max_context_length", "seq");
    for (const char* key : {"local_batch_size", "batch_size"}) training.take_whole(key, "local_batch");
    if (const auto batch = training.whole("global_batch_size", -1); batch && *batch > 0)
        training.put("global_batch_size", "global_batch", *batch);
    if (const auto tokens = training.take_whole("num_tokens_per_microbatch_per_dp_rank", "tokens")) {
        const int64_t seq = job.facts.whole("seq").value_or(1);
        if (*tokens % seq != 0)
            training.report({"jobs.tokens", {{"tokens", *tokens}, {"seq", seq}}}, {"jobs.hint.tokens", {}});
        else
            job.facts.put(
                "micro_batch", *tokens / seq,
                {Origin::Kind::derived, training.origin("num_tokens_per_microbatch_per_dp_rank").source,
                 "training.num_tokens_per_microbatch_per_dp_rank " + std::to_string(*tokens) +
                     " / training.max_context_length " + std::to_string(seq)},
                job.found);
    }
    if (const auto step = training.whole("num_tokens_per_train_step", -1, Table::kMostTotal);
        step && *step > 0) {
        const int64_t seq = job.facts.whole("seq").value_or(1);
        if (*step % seq != 0)
            training.report({"jobs.tokens", {{"tokens", *step}, {"seq", seq}}}, {"jobs.hint.tokens", {}});
        else
            job.facts.put("global_batch", *step / seq,
                          {Origin::Kind::derived, training.origin("num_tokens_per_train_step").source,
                           "training.num_tokens_per_train_step " + std::to_string(*step) +
                               " / training.max_context_length " + std::to_string(seq)},
                          job.found);
    }
    if (job.facts.has("local_batch")) cut_local_batch(root, job);
    fall_back(job, "accumulate", int64_t{1}, "training.global_batch_size");
    const auto norm = training.number("max_norm");
    if (norm && *norm > 0) training.put("max_norm", "clip_norm", *norm);
    if (!norm) fall_back(job, "clip_norm", 1.0, "training.max_norm");
}

void torchtitan_precision(const Table& root, Job& job) {
    const Table training = root.table("training");
    const Words kTypes{{"bfloat16", "bfloat16"}, {"float32", "float32"}, {"float16", "float16"}};
    for (const auto& [key, fact, fallback] : {std::tuple("mixed_precision_param", "precision", "bfloat16"),
                                              std::tuple("mixed_precision_reduce", "reduce", "float32")}) {
        training.take_word(key, fact, kTypes);
        fall_back(job, fact, std::string(fallback), (std::string("training.") + key).c_str());
    }
    // Of the model as it is made: float32 is the scenario's own.
    if (const auto type = training.word("dtype", kTypes).value_or("float32"); type == "bfloat16")
        training.put("dtype", "dtype", type);
    else if (type != "float32")
        training.unsaid("dtype", {"jobs.why.float32_state", {}});
    const Table model = root.table("model");
    model.unsaid_if_set("converters", {"jobs.why.eight_bits", {}});
    for (const char* table : {"quantize", "float8"}) root.seen(table);
    const Table compile = root.table("compile");
    if (compile.is_set("enable") || training.is_set("compile"))
        (compile.is_set("enable") ? compile : training)
            .unsaid(compile.is_set("enable") ? "enable" : "compile", {"jobs.why.compiled", {}});
    compile.pass_over({"components", "backend"});
    if (root.has("loss") && root.table("loss").whole("num_chunks").value_or(1) > 1)
        root.table("loss").unsaid("num_chunks", {"jobs.why.chunked_loss", {}});
}

/// A saved configuration has only the fields of its class: selective recomputation has a list that full
/// recomputation has not.
void torchtitan_recomputation(const Table& root, Job& job) {
    const Table policy = root.table("activation_checkpoint");
    policy.pass_over({"preserve_rng_state", "determinism_check", "debug", "early_stop",
                      "per_op_sac_force_recompute_mm_shapes_by_fqns", "visualize_memory_budget_pareto"});
    if (policy.has("mode")) {
        const auto mode = policy.word("mode", {{"none", "none"},
                                               {"full", "full"},
                                               {"selective", "selective"},
                                               {"memory_budget", "memory_budget"}});
        if (!mode) return;
        policy.put("mode", "recompute", std::string(*mode == "memory_budget" ? "none" : *mode));
        const std::string every = policy.shown("selective_ac_option");
        if (*mode == "selective" && every != "op" && !every.empty())
            policy.unsaid("selective_ac_option", {"jobs.why.recompute_all", {}});
        if (*mode == "memory_budget") policy.unsaid("mode", {"jobs.why.recompute_none", {}});
        policy.pass_over({"selective_ac_option"});
    } else if (policy.has("force_recompute_mm_shapes_by_fqns")) {
        policy.put("force_recompute_mm_shapes_by_fqns", "recompute", std::string("selective"));
    } else if (policy.has("memory_budget")) {
        policy.unsaid("memory_budget", {"jobs.why.recompute_none", {}});
    } else if (policy.has("preserve_rng_state")) {
        policy.put("preserve_rng_state", "recompute", std::string("full"));
    }
    if (root.is_null("activation_checkpoint"))
        root.put("activation_checkpoint", "recompute", std::string("none"));
    fall_back(job, "recompute", std::string("selective"), "activation_checkpoint");
}

/// Adam's two numbers of a parameter group; null where it has none.
const json* betas_of(const json& group) {
    const auto kwargs = group.find("optimizer_kwargs");
    if (kwargs == group.end() || !kwargs->is_object() || !kwargs->contains("betas")) return nullptr;
    const json& betas = (*kwargs)["betas"];
    const bool fine = betas.is_array() && betas.size() == 2 && betas[0].is_number() && betas[1].is_number();
    return fine ? &betas : nullptr;
}

void torchtitan_optimizer(const Document& document, const Table& root, Job& job) {
    const Table optimizer = root.table("optimizer");
    const auto take = [&](const std::string& name, const char* key) {
        if (name == "AdamW" || name == "Adam")
            optimizer.put(key, "optimizer", std::string(name == "Adam" ? "adam" : "adamw"));
        else
            optimizer.unsaid(key, {"jobs.why.adamw", {}});
    };
    if (const auto name = optimizer.text("name")) take(*name, "name");
    optimizer.take_number("lr", "lr");
    optimizer.take_number("eps", "eps");
    optimizer.take_number("beta1", "beta1");
    optimizer.take_number("beta2", "beta2");
    optimizer.take_number("weight_decay", "weight_decay");
    // A list of groups, of which the first is looked at.
    const json* const found = document.root.contains("optimizer") && document.root["optimizer"].is_object() &&
                                      document.root["optimizer"].contains("param_groups")
                                  ? &document.root["optimizer"]["param_groups"]
                                  : nullptr;
    optimizer.seen("param_groups");
    if (found != nullptr && found->is_array() && !found->empty() && (*found)[0].is_object()) {
        const json& group = (*found)[0];
        if (const auto name = group.find("optimizer_name"); name != group.end() && name->is_string())
            take(name->get<std::string>(), "param_groups");
        if (const auto kwargs = group.find("optimizer_kwargs"); kwargs != group.end() && kwargs->is_object())
            for (const auto& [key, fact] :
                 {std::pair("lr", "lr"), std::pair("eps", "eps"), std::pair("weight_decay", "weight_decay")})
                if (kwargs->contains(key) && (*kwargs)[key].is_number())
                    optimizer.put("param_groups", fact, (*kwargs)[key].get<double>());
        if (const json* const betas = betas_of(group); betas != nullptr) {
            optimizer.put("param_groups", "beta1", (*betas)[0].get<double>());
            optimizer.put("param_groups", "beta2", (*betas)[1].get<double>());
        }
        if (found->size() > 1) optimizer.unsaid("param_groups", {"jobs.why.first_group", {}});
    }
    fall_back(job, "optimizer", std::string("adamw"), "optimizer.name");
}

}  // namespace

void settle_replicas(Job& job) {
    Facts& facts = job.facts;
    const Fact* const bucket = facts.find("ddp_bucket_mb");
    const auto degree = [&](const char* fact) { return facts.whole(fact).value_or(1); };
    if (bucket == nullptr || degree("dp_shard") != 1 || degree("cp") != 1) return;
    const int64_t replicas = degree("dp_replicate");
    const bool others = degree("tp") > 1 || degree("pp") > 1;
    if (replicas > 1 && others)
        job.found.push_back({{"jobs.ddp_alone", {{"n", replicas}}},
                             {job.files.front(), 0, 0, -1},
                             {"jobs.hint.ddp_alone", {}}});
    const Origin origin = bucket->origin;
    const Value size = bucket->value;
    for (const char* fact : {"ddp_bucket_mb", "reshard_after_forward", "decoder_units", "cpu_offload"})
        facts.remove(fact);
    facts.replace("strategy", std::string(replicas > 1 ? "ddp" : "none"), origin);
    if (replicas > 1) facts.replace("bucket_cap_mb", size, origin);
    // maybe_enable_amp(): autocast serves replicas and one rank alone.
    if (others)
        facts.replace("precision", std::string("float32"),
                      {Origin::Kind::fallback, job.program, "maybe_enable_amp"});
}

void read_torchtitan(const Document& document, Job& job) {
    job.program = "torchtitan";
    job.autocasts = true;
    const Table root(document, job);
    read_torchtitan_model(document, root, job);
    torchtitan_degrees(root, job);
    torchtitan_fsdp(root, job);
    torchtitan_pipeline(root, job);
    torchtitan_batch(root, job);
    torchtitan_precision(root, job);
    torchtitan_recomputation(root, job);
    torchtitan_optimizer(document, root, job);
    root.note_unread();
}

}  // namespace meshscope::jobs
