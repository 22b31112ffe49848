// NeMo's recipes: the same options as Megatron-LM's under other names.
#include <string>
#include <utility>

#include "core/jobs/job.h"
#include "core/jobs/programs.h"
#include "core/jobs/table.h"

namespace meshscope::jobs {

void read_nemo(const Document& document, Job& job) {
    job.program = "NeMo";
    const Table args(document, job);
    constexpr std::pair<const char*, const char*> kKeys[] = {
        {"trainer.strategy.tensor_model_parallel_size", "tp"},
        {"trainer.strategy.pipeline_model_parallel_size", "pp"},
        {"trainer.strategy.context_parallel_size", "cp"},
        {"trainer.strategy.expert_model_parallel_size", "ep"},
        {"trainer.strategy.virtual_pipeline_model_parallel_size", "stages_per_rank"},
        {"trainer.devices", "ranks_per_node"},
        {"trainer.num_nodes", "nodes"},
        {"trainer.max_steps", "steps"},
        {"data.micro_batch_size", "micro_batch"},
        {"data.global_batch_size", "global_batch"},
        {"data.seq_length", "seq"},
        {"model.config.num_layers", "model.layers"},
        {"model.config.hidden_size", "model.dim"},
        {"model.config.ffn_hidden_size", "model.hidden"},
        {"model.config.num_attention_heads", "model.heads"},
    };
    for (const auto& [key, fact] : kKeys) args.take_whole(key, fact);
    for (const char* fact : {"tp", "pp", "cp", "ep"}) fall_back(job, fact, int64_t{1}, "MegatronStrategy");
    fall_back(job, "etp", *job.facts.whole("tp"), "MegatronStrategy");
    fall_back(job, "order", std::string("tp-cp-ep-dp-pp"), "use_tp_pp_dp_mapping");
    fall_back(job, "stages_per_rank", int64_t{1}, "virtual_pipeline_model_parallel_size");
    fall_back(job, "accumulate", int64_t{1}, "global_batch_size");
    fall_back(job, "strategy", std::string("zero1"), "use_distributed_optimizer");
    fall_back(job, "precision", std::string("bfloat16"), "bf16_mixed");
    fall_back(job, "reduce", std::string("float32"), "grad_reduce_in_fp32");
    if (args.is_set("trainer.strategy.sequence_parallel") && job.facts.whole("tp").value_or(1) > 1)
        args.put("trainer.strategy.sequence_parallel", "sequence_parallel", true);
    if (job.facts.whole("cp").value_or(1) > 1)
        fall_back(job, "cp_kind", std::string("alltoall"), "cp_comm_type");
    if (args.whole("model.config.num_moe_experts").value_or(0) > 1) {
        args.take_whole("model.config.num_moe_experts", "model.experts");
        args.take_whole("model.config.moe_router_topk", "model.experts_per_token");
        args.unsaid("model.config.num_moe_experts", {"jobs.why.experts", {}});
    }
    if (const int64_t ep = job.facts.whole("ep").value_or(1); ep > 1)
        args.unsaid("trainer.strategy.expert_model_parallel_size", {"jobs.why.expert_ranks", {{"n", ep}}});
    args.note_unread();
}

}  // namespace meshscope::jobs
